"""Who waits and who is elsewhere by the stacks; shared by the rules on stacks."""

from __future__ import annotations

from collections.abc import Iterable

from unhang.model.ids import ManyRanks, Ranks
from unhang.model.incident import Incident, Manner, ranks_of
from unhang.model.phases import Phase
from unhang.model.provenance import Message, say
from unhang.model.stack_states import StackState
from unhang.model.strength import Strength
from unhang.model.waits import Wait, WitnessKind
from unhang.rules.shared import order


def find_wait_of_stacks(incident: Incident) -> Wait | None:
    """Return who waits for whom, or None where the stacks do not tell that anybody does."""
    return next(iter(incident.analysis(WitnessKind.STACK).waits), None)


def alarmed(wait: Wait) -> bool:
    """Whether somebody gave up waiting, so that the stacks are surely those of a hang."""
    return any(witness.weight is Strength.PROVES for witness in wait.witnesses)


def states_of(incident: Incident, wanted: Ranks) -> list[StackState]:
    """Where some ranks stand, by rank."""
    return [s for s in incident.stances if s.rank in wanted]


def silent(incident: Incident) -> ManyRanks:
    """Ranks that should have left a stack, and did not."""
    told = ranks(incident.stances)
    return incident.analysis(WitnessKind.STACK).snapshot.world - told if told else told


def ranks(stances: Iterable[StackState]) -> Ranks:
    """The known ranks of some processes."""
    return frozenset(s.rank for s in stances if s.rank is not None)


def by_name_alone(incident: Incident, state: StackState) -> bool:
    """Whether only the name of a function of the program tells what the rank is at.

    What runs below it may bear it out, or a line that says that such work had begun.
    """
    if state.certain or state.fits:
        return False
    return state.rank is None or not begun(incident, state.phase, frozenset({state.rank}))


def begun(incident: Incident, phase: Phase | None, suspects: Ranks) -> bool:
    """Whether the last thing that the log tells of some ranks, or of nobody, is such work."""
    told = (p.rank for p in incident.open_phases if p.phase is phase)
    return any(rank is None or rank in suspects for rank in told)


def contradicted(incident: Incident, suspects: Ranks) -> bool:
    """Whether something else explains the hang, or the suspects gave up waiting themselves.

    A rank that comes back from its work after the others gave up finds its peers gone: that it
    says so then speaks for the work, not against it. A time-out of its own is one that it waited
    for, whenever it came.
    """
    if any(f.manner in order.DECISIVE for f in incident.failures):
        return True
    gave_up = [e for e in incident.events if e.gave_up]
    alarm, timeouts = order.earliest(gave_up), {e.source for e in gave_up}
    on_their_way_out = ranks_of(
        f
        for f in incident.failures
        if f.manner is Manner.PEER
        and (f.source in timeouts or alarm is None or not order.is_before(alarm, f))
    )
    return bool(suspects & (incident.gave_up | on_their_way_out))


def denial(incident: Incident, suspects: Ranks) -> Message | None:
    """What another witness tells of ranks that are elsewhere by their stacks."""
    for found in incident.waits.contradictions:
        ranks = found.ranks & suspects
        if not ranks or found.elsewhere.kind is not WitnessKind.STACK:
            continue
        if found.waiting.kind is WitnessKind.LOG:
            return say(
                "stacks.against_log",
                "according to the logs, {ranks:ranks} gave up waiting, too",
                ranks=ranks,
            )
        if found.waiting.kind is WitnessKind.RECORDER:
            return say(
                "stacks.against_dump",
                "according to the Flight Recorder dumps, {ranks:ranks} {ranks:|waits|wait} in a "
                "call, too",
                ranks=ranks,
            )
    return None
