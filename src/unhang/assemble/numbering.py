"""How processes and the files of a job are numbered: which are ranks, and which are jobs.

`log-3.txt` alone names no rank. When `log-0.txt` to `log-2.txt` hold lines of ranks 0, 1 and 2, the
program names its files after ranks, and `log-3.txt` is rank 3's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from unhang import lazy_re as re
from unhang.model.events import CommunicatorStage, Event, WorldSeen
from unhang.model.ids import Rank

_NUMBER = re.compile(r"\d{1,6}")
_FEWEST = 2
"""Files whose number is their rank, before the others' numbers are believed."""


def ranks_alone(announced: Mapping[str, frozenset[Rank]]) -> dict[str, Rank]:
    """Return the ranks of files each of which one process announces itself in, and no other.

    That holds where the files together count the ranks without a gap: a file of a whole node, in
    which only its first process says its rank, leaves gaps between it and the next.

    Args:
        announced: the ranks that are heard in each file in which a process announces its rank.
    """
    alone = {name: next(iter(ranks)) for name, ranks in announced.items() if len(ranks) == 1}
    ranks = set(alone.values())
    if not _FEWEST <= len(ranks) == len(alone) == len(announced):
        return {}
    return alone if max(ranks) - min(ranks) + 1 == len(ranks) else {}


def ranks_by_file(
    artifacts: Iterable[str], spoken: Mapping[str, frozenset[Rank]], world_size: int | None
) -> dict[str, Rank]:
    """Return the rank of each file that belongs to a series numbered by ranks.

    Args:
        artifacts: all files.
        spoken: the ranks whose lines a file holds.
        world_size: size of the job, where known.
    """
    series: dict[tuple[str, str], dict[str, Rank]] = defaultdict(dict)
    for artifact in artifacts:
        for match in _NUMBER.finditer(artifact):
            before, after = artifact[: match.start()], artifact[match.end() :]
            series[before, after][artifact] = Rank(int(match[0]))
    found: dict[str, Rank] = {}
    for numbers in series.values():
        if _counts_ranks(numbers, spoken, world_size):
            found.update(numbers)
    return found


def _counts_ranks(
    numbers: Mapping[str, Rank], spoken: Mapping[str, frozenset[Rank]], world_size: int | None
) -> bool:
    """Whether every file that names its rank has it for its number, and enough of them do."""
    if world_size is not None and max(numbers.values()) >= world_size:
        return False
    told = [(number, spoken[name]) for name, number in numbers.items() if spoken.get(name)]
    return len(told) >= _FEWEST and all(ranks == {number} for number, ranks in told)


def several_alone(events: Iterable[Event]) -> bool:
    """Whether several processes live at once of which each is all of its job: several jobs.

    One that begins when another has said its last is its next start.
    """
    alone: set[tuple[str | None, int]] = set()
    seen: dict[tuple[str | None, int], list[int]] = {}
    for place, event in enumerate(events):
        pid = event.origin.pid
        if pid is None:
            continue
        key = (event.origin.host, pid)
        seen.setdefault(key, [place, place])[1] = place
        size = event.world_size if isinstance(event, WorldSeen) else None
        size = event.size if isinstance(event, CommunicatorStage) else size
        if size == 1:
            alone.add(key)
    spans = sorted(seen[key] for key in alone)
    return any(later[0] < earlier[1] for earlier, later in pairwise(spans))
