"""From all lines of a job, read once more, to the ranks that are not where the others are.

Asked only where the lines that parsers know leave a job without a cause, or its ranks without a
name: reading every line takes longer than reading those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from unhang.engine.gather import Gathered
from unhang.engine.ledger.apart import find_apart
from unhang.engine.ledger.streams import read
from unhang.model.events import RanksApart, ThreadStack
from unhang.model.ids import Rank, Ranks
from unhang.model.incident import Failure, Incident
from unhang.sources.artifact import Artifact


def side_by_side(
    gathered: Gathered, incident: Incident, culprits: Ranks, failures: Sequence[Failure]
) -> Gathered | None:
    """The same with who is apart by all that ranks said, and whose the stacks of a file are.

    Args:
        gathered: what was read.
        incident: what is known of the job.
        culprits: the ranks that a verdict without a cause names.
        failures: of processes that failed by themselves.

    Returns:
        None where nothing new was found.
    """
    looks = ((artifact, gathered.look(artifact.name)) for artifact in gathered.artifacts)
    files = [artifact for artifact, look in looks if look is not None and not look.tests]
    highest = max((int(rank) for rank in incident.roster), default=-1)
    apart, owners = ranks_apart(files, incident.world.size, highest, culprits)
    # Ranks that fail alike may be those that waited, where they are all the others.
    failed = {
        f.rank if f.rank is not None else owners.get(f.events[0].source.artifact) for f in failures
    }
    if apart is not None and failed and (failed != apart.others or len(failed) < _FEWEST_ALIKE):
        apart = None
    events = [
        replace(e, origin=replace(e.origin, rank=owners[e.source.artifact]))
        if isinstance(e, ThreadStack) and e.origin.rank is None and e.source.artifact in owners
        else e
        for e in gathered.events
    ]
    if apart is None and events == gathered.events:
        return None
    return replace(gathered, events=events if apart is None else [*events, apart])


_FEWEST_ALIKE = 2


def ranks_apart(
    artifacts: Iterable[Artifact], world_size: int | None, highest: int, missing: Ranks
) -> tuple[RanksApart | None, Mapping[str, Rank]]:
    """Who is apart, or None; and the rank of each file that one rank alone speaks in.

    Never raises on any bytes.

    Args:
        artifacts: the files of the job.
        world_size: how many ranks there are, where known.
        highest: the highest rank that anything names; -1 = none.
        missing: ranks that did not come to a call, by those that gave up.
    """
    try:
        ledger = read(artifacts, world_size, highest)
        return (None, {}) if ledger is None else (find_apart(ledger, missing), ledger.files)
    except Exception:  # what could not be read was told of when it was read first
        return None, {}
