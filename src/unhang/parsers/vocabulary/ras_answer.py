"""From one answer of NCCL's RAS, as raw data, to what its text form would say of it.

The JSON form holds every rank of every communicator and judges nothing; the text form names what
differs. What is derived here follows the text form, so that rules see the same in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from unhang.model.events import RasGroup, RasProblem, RasReport
from unhang.model.ids import Rank
from unhang.model.provenance import Origin, Provenance
from unhang.model.time import Instant

_GOING_WELL = {0, 7}
"""ncclSuccess and ncclInProgress."""
_RESULTS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}


class RasProcess(NamedTuple):
    """What stands behind a rank; a rank of another communicator may have the same."""

    host: str
    pid: int
    device: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RasMember:
    """A rank of a communicator.

    Attributes:
        lost: "dead" or "missing" for one that did not answer, else "".
        status: RUNNING, INIT, FINALIZE, ABORT; NOCOMM for one that answers and knows nothing of
            the communicator.
        counts: launched operations by name.
        init_error, async_error: NCCL's results that are no success, else None.
    """

    rank: Rank
    process: RasProcess | None
    lost: str = ""
    status: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    init_error: int | None = None
    async_error: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Communicator:
    """One communicator of an answer; `size` counts all its ranks."""

    name: str
    size: int
    members: tuple[RasMember, ...]


def status_of(init: int | None, *, finalized: bool, aborted: bool) -> str:
    """The status by NCCL's own order: an abort hides all else."""
    if aborted:
        return "ABORT"
    if finalized:
        return "FINALIZE"
    return "RUNNING" if init == 0 else "INIT"


def failed(result: int | None) -> int | None:
    """A result that is neither success nor "in progress"."""
    return None if result is None or result in _GOING_WELL else result


def reports(
    communicators: list[Communicator], *, source: Provenance, origin: Origin, at: Instant | None
) -> Iterator[RasReport]:
    """What differs; one report that all is well where nothing does and somebody answered."""
    make = partial(RasReport, source=source, origin=origin, at=at)
    whole = _whole(communicators)
    found = [r for c in communicators for r in _of(c, make, whole)]
    answered = any(not m.lost for c in communicators for m in c.members)
    if found or not answered:
        yield from found
        return
    largest = max(c.size for c in communicators)
    yield make(problem=RasProblem.NONE, size=largest)


def _whole(communicators: list[Communicator]) -> dict[RasProcess, Rank]:
    """Ranks by process of the communicator that every process belongs to; empty without one."""
    everyone = {m.process for c in communicators for m in c.members}
    for communicator in sorted(communicators, key=lambda c: -c.size):
        ranks = {m.process: m.rank for m in communicator.members}
        if None not in everyone and ranks.keys() == everyone and len(ranks) == communicator.size:
            return {process: rank for process, rank in ranks.items() if process is not None}
    return {}


def _of(
    communicator: Communicator, make: Callable[..., RasReport], whole: dict[RasProcess, Rank]
) -> Iterator[RasReport]:
    """What differs within one communicator."""

    def report(
        problem: RasProblem,
        members: list[RasMember],
        says: Callable[[RasMember], str],
        op: str | None = None,
    ) -> RasReport:
        return make(
            problem=problem,
            comm=communicator.name,
            size=communicator.size,
            op=op,
            groups=_groups(members, says, whole),
            of_all=len(whole) > 0,
        )

    lost = [m for m in communicator.members if m.lost]
    here = [m for m in communicator.members if not m.lost]
    if lost:
        yield report(RasProblem.NO_ANSWER, lost, lambda m: m.lost)
    for op, error in (("initialization", _init_error), ("asynchronous", _async_error)):
        wrong = [m for m in here if error(m)]
        if wrong:
            yield report(RasProblem.ERROR, wrong, error, op)
    if len({m.status for m in here}) > 1:
        yield report(RasProblem.STATUS_DIFFERS, here, lambda m: m.status)
    counting = [m for m in here if m.counts]
    for op in dict.fromkeys(op for m in counting for op in m.counts):
        if len({m.counts.get(op, 0) for m in counting}) > 1:
            yield report(RasProblem.COUNTS_DIFFER, counting, _count_of(op), op)


def _count_of(op: str) -> Callable[[RasMember], str]:
    return lambda member: str(member.counts.get(op, 0))


def _init_error(member: RasMember) -> str:
    return _error_name(member.init_error)


def _async_error(member: RasMember) -> str:
    return _error_name(member.async_error)


def _error_name(result: int | None) -> str:
    return "" if result is None else _RESULTS.get(result, "Unexpected error")


def _groups(
    members: list[RasMember], says: Callable[[RasMember], str], whole: dict[RasProcess, Rank]
) -> tuple[RasGroup, ...]:
    """Members by what they say, the most numerous first."""
    counted = Counter(says(member) for member in members)
    return tuple(
        _group(said, [m for m in members if says(m) == said], whole)
        for said, _ in counted.most_common()
    )


def _group(said: str, members: list[RasMember], whole: dict[RasProcess, Rank]) -> RasGroup:
    processes = [m.process for m in members if m.process is not None]
    ranks = [whole[p] for p in processes] if whole else [m.rank for m in members]
    return RasGroup(
        says=said,
        count=len(members),
        ranks=frozenset(ranks),
        pids=frozenset(p.pid for p in processes),
        hosts=frozenset(p.host for p in processes),
    )
