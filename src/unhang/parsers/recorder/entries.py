"""From the entries of one dump to what the rank did in each group. The hot loop is here.

Each entry is touched once: they lie scattered in memory, and fetching them is what takes the time.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter

from unhang.model.recording import Traffic
from unhang.parsers.recorder.document import Entry
from unhang.parsers.recorder.kinds import PAIR_NAME, KindTable

_FIELDS = itemgetter(
    *("process_group", "is_p2p", "collective_seq_id", "state", "retired"),
    *("profiling_name", "input_sizes", "output_sizes", "input_dtypes"),
)
_BATCH_END = ":coalesced"

MALFORMED = (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError)
"""What reading raises where entries are not of the newest form."""


@dataclass(slots=True)
class PairTraffic:
    """Point-to-point operations of one name: with one peer in one direction, or ends of batches.

    Attributes:
        states: whether each is done.
        sizes, dtypes, kind: what the last one carried, for most carry the same.
        is_end: these entries end batches.
    """

    places: list[int] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)
    kinds: array[int] = field(default_factory=lambda: array("i"))
    states: list[bool] = field(default_factory=list)
    sizes: object = None
    dtypes: object = None
    kind: int = -1
    is_end: bool = False

    def note(self, place: int, seq: int, done: bool) -> None:
        """One more operation that carries what the last one did."""
        self.places.append(place)
        self.seqs.append(seq)
        self.kinds.append(self.kind)
        self.states.append(done)

    def traffic(self, ends: Mapping[int, bool], batches: AbstractSet[int]) -> Traffic:
        """The same for the model.

        Args:
            ends: whether batches are done, by number, where that is known.
            batches: numbers of the others; their operations stay scheduled for ever.
        """
        states = self.states
        if ends:
            states = [ends.get(n, s) for n, s in zip(self.seqs, states, strict=True)]
        done = len(states) - states[::-1].index(True) if True in states else 0
        batched = not batches.isdisjoint(self.seqs)
        pending = 0 if batched else len(states) - done
        return Traffic(
            count=len(states),
            pending=pending,
            pending_at=self.places[done] if pending > 0 else None,
            last_at=self.places[-1],
            seqs=array("q", self.seqs),
            kinds=self.kinds,
            batched=batched,
        )


@dataclass(slots=True)
class GroupEntries:
    """The calls of one group.

    Attributes:
        pg_id: the process's own number of the group.
        pending: number and place of the first collective after the last completed one that had
            not completed.
        passed: point-to-point operations by name.
    """

    name: str
    description: str
    pg_id: object
    seqs: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    last: int | None = None
    last_at: int | None = None
    completed: int | None = None
    done_at: int | None = None
    pending: tuple[int, int] | None = None
    passed: dict[str, PairTraffic] = field(default_factory=dict)


def read_entries(
    entries: Sequence[Entry], table: KindTable, *, has_states: bool
) -> dict[str, GroupEntries]:
    """Sort the entries of a dump by group.

    Args:
        entries: as the newest versions write them.
        table: of the whole run.
        has_states: `state` means something; else only `retired` does.

    Raises:
        KeyError, TypeError, ValueError, OverflowError: an entry is of another form.
    """
    groups: dict[tuple[str, str], GroupEntries] = {}
    guesses: dict[int, int] = {}
    raws, kind_of_raw = table.raws, table.kind_of_raw
    before = -1
    for place, entry in enumerate(entries):
        key, is_p2p, seq, state, retired, name, inputs, outputs, dtypes = _FIELDS(entry)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _new_group(key, entry)
        done = state == "completed" or (retired and not has_states)
        if is_p2p:
            passed = group.passed.get(name)
            if passed is None:
                passed = group.passed[name] = _new_passed(name)
            if inputs != passed.sizes or dtypes != passed.dtypes:
                passed.kind = table.carried(inputs or outputs, dtypes)
                passed.sizes, passed.dtypes = inputs, dtypes
            passed.note(place, entry["p2p_seq_id"], done)
            continue
        raw = (name, inputs, outputs, dtypes)
        guess = guesses.get(before, -1)
        if guess < 0 or raws[guess] != raw:
            guess = guesses[before] = table.raw(raw)
        before = guess
        kind = kind_of_raw[guess] if guess >= 0 else -1 - guess
        if seq == group.last:
            group.kinds[-1] = table.joined(group.kinds[-1], kind)
        else:
            group.seqs.append(seq)
            group.kinds.append(kind)
            group.last = seq
        group.last_at = place
        if done:
            group.completed = seq
            group.done_at = place
            group.pending = None
        elif group.pending is None:
            group.pending = (seq, place)
    return {group.name: group for group in groups.values()}


def _new_group(key: object, entry: Entry) -> GroupEntries:
    if not isinstance(key, tuple) or len(key) != 2 or set(map(type, key)) != {str}:
        raise TypeError("a group's name is not text")
    return GroupEntries(*key, pg_id=entry.get("pg_id"))


def _new_passed(name: object) -> PairTraffic:
    if type(name) is not str:
        raise TypeError("a name is not text")
    return PairTraffic(is_end=name.endswith(_BATCH_END))


def read_pairs(
    passed: Mapping[str, PairTraffic], *, has_states: bool
) -> tuple[dict[tuple[str, int, int], Traffic], bool]:
    """Point-to-point traffic of a group by (direction, own rank in the group, peer).

    Returns:
        The traffic, and whether the first operation of the group is still in the buffer.
    """
    ends: dict[int, bool] = {}
    for found in passed.values():
        if found.is_end:
            ends.update(zip(found.seqs, found.states, strict=True))
    if not has_states or not any(ends.values()):
        ends = {}
    counts = Counter(chain.from_iterable(found.seqs for found in passed.values()))
    batches = {number for number, count in counts.items() if count > 1} - ends.keys()
    traffic: dict[tuple[str, int, int], Traffic] = {}
    for name, found in passed.items():
        match = PAIR_NAME.search(name)
        if match is not None:
            key = (match[1], int(match[2]), int(match[4]))
            traffic[key] = found.traffic(ends, batches)
    return traffic, min(counts, default=0) <= 1


def packed(seqs: Iterable[int]) -> Sequence[int]:
    """Numbers in the smallest form; those of a group follow each other.

    Raises:
        TypeError, OverflowError: they are no numbers.
        ValueError: they do not ascend.
    """
    numbers = array("q", seqs)
    if not numbers:
        return range(0)
    span = range(numbers[0], numbers[-1] + 1)
    if len(span) == len(numbers):
        if array("q", span) != numbers:
            raise ValueError("sequence numbers do not ascend")
        return span
    if any(a >= b for a, b in pairwise(numbers)):
        raise ValueError("sequence numbers do not ascend")
    return numbers
