"""From the signs of a job to its most probable cause, where nothing is proved.

How much a sign says is fitted to labelled jobs, not typed in (`chances`), and what it comes to is
calibrated on jobs of sources that were left out of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import Finished, Role, UnreadLine
from unhang.model.events.lifecycle import LONG_AT_WORK, STATES_OF_WORK, state_of_work
from unhang.model.finding import Collect, Finding, Strength
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.incident import VICTIM_MANNERS, Incident, Manner
from unhang.model.likely import CountedSign, Likely, Rival, Sign
from unhang.verdict.chances import LEAST_WORDS, Chances, counts, load_chances
from unhang.verdict.culprits import OF_ONE_RANK
from unhang.verdict.outlived import outlived
from unhang.verdict.signs import shows_failure

_LEAST_CHANCE = 0.3
"""Of those stated at less, few are right."""
_MOST_FINE = 0.2
"""Chance that nothing failed above which no cause is named where nothing shows a failure."""
_LEAST_TELLING = 0.05
"""A sign that adds less says nothing."""
_SHOW_FAILURE = frozenset({Role.ALARM, Role.FAULT, Role.END})
_SHOWN, _RIVALS = 3, 2

_DECIDES = {
    Cause.RANK_EXCEPTION: "rank_traceback",
    Cause.GPU_OOM: "rank_traceback",
    Cause.GPU_KERNEL_FAULT: "rank_traceback",
    Cause.HOST_OOM: "kernel_log",
    Cause.RANK_CRASH: "crash_stack",
    Cause.LIBRARY_BUG: "crash_stack",
    Cause.DESYNC: "detail",
    Cause.MODEL_DIVERGENCE: "detail",
    Cause.NET_INTERFACE: "nccl_info",
    Cause.RDMA_FAULT: "nccl_info",
    Cause.P2P_FAULT: "nccl_info",
    Cause.BANDWIDTH_LOW: "nccl_info",
    Cause.DEVICE_MAP: "nccl_info",
    Cause.VERSION_MISMATCH: "nccl_info",
    Cause.SHM_SMALL: "shm_space",
    Cause.GPU_HARDWARE: "gpu_kernel_log",
    Cause.RENDEZVOUS: "store_connection",
    Cause.EXTERNAL_STOP: "launcher_exits",
}
"""What decides about a cause; about the others, stacks of the ranks while they hang."""


def weigh(
    incident: Incident, diagnosis: Diagnosis, signs: Sequence[Sign], findings: Sequence[Finding]
) -> Likely | None:
    """Name the most probable cause of a job whose cause the evidence does not show.

    Args:
        incident: the job.
        diagnosis: the verdict on it.
        signs: of the job.
        findings: of all rules; weak ones may tell who it is.

    Returns:
        None where a cause is shown, where nothing failed, and where no sign says anything.
    """
    open_ended = diagnosis.outcome in (Outcome.LOCATED, Outcome.UNDETERMINED)
    if not open_ended or incident.finished:
        return None
    if outlived(incident, STATES_OF_WORK) or _only_words_before_work(incident):
        return None
    chances, told = load_chances(), counts(signs)
    found = any(f.strength is not Strength.HINTS and not f.urgent for f in findings)
    failed = found or incident.calls or incident.failures or incident.stances
    if not failed and chances.of_no_failure(told) > _MOST_FINE:
        return None
    if not failed and not shows_failure(incident) and chances.words(told) < LEAST_WORDS:
        return None
    (first, chance), *others = chances.order(told) or [("", 0.0)]
    if chance < _LEAST_CHANCE:
        return None
    second = others[0][0] if others else first
    telling = _telling(chances, signs, first)
    cause = Cause(first)
    shown = telling[:_SHOWN]
    for_it = {t.sign.name for t in shown}
    against = [t for t in _against(chances, signs, first, second) if t.sign.name not in for_it]
    return Likely(
        cause=cause,
        chance=chance,
        culprits=_culprits(incident, diagnosis, cause, findings),
        signs=shown,
        against=tuple(against[:_SHOWN]),
        rivals=tuple(Rival(cause=Cause(c), chance=p) for c, p in others[:_RIVALS]),
        decides=_decides(incident, cause),
    )


def _only_words_before_work(incident: Incident) -> bool:
    """Whether nothing but words looks like a failure, and the job was long at work after them."""
    faults = any(e.role in _SHOW_FAILURE for e in incident.events if not isinstance(e, Finished))
    if faults or incident.calls or incident.failures or incident.stances:
        return False
    words = [line.source for line in incident.all(UnreadLine) if not line.read]
    if len({place.artifact for place in words}) != 1:
        return False
    last = max(place.line or 0 for place in words)
    later = (
        event
        for event in incident.events
        if event.source.artifact == words[0].artifact and (event.source.line or 0) > last
    )
    return len({state_of_work(event) for event in later} - {None}) >= LONG_AT_WORK


def _telling(chances: Chances, signs: Sequence[Sign], cause: str) -> tuple[CountedSign, ...]:
    """Signs that speak for a cause, the most telling first."""
    return _most(chances, signs, chances.said(counts(signs), cause), cause)


def _against(
    chances: Chances, signs: Sequence[Sign], cause: str, rival: str
) -> tuple[CountedSign, ...]:
    """Signs that speak for the next cause rather than for the first."""
    names = counts(signs)
    of_rival, of_cause = chances.said(names, rival), chances.said(names, cause)
    gaps = {name: of_rival[name] - of_cause[name] for name in of_rival}
    return _most(chances, signs, gaps, cause)


def _most(
    chances: Chances, signs: Sequence[Sign], said: Mapping[str, float], cause: str
) -> tuple[CountedSign, ...]:
    telling = [sign for sign in signs if said.get(sign.name, 0.0) > _LEAST_TELLING]
    telling.sort(key=lambda sign: -said[sign.name])
    return tuple(_counted(chances, sign, cause) for sign in telling)


def _counted(chances: Chances, sign: Sign, cause: str) -> CountedSign:
    counted = chances.signs.get(sign.name, {})
    return CountedSign(sign=sign, jobs=sum(counted.values()), with_cause=counted.get(cause, 0.0))


def _culprits(
    incident: Incident, diagnosis: Diagnosis, cause: Cause, findings: Sequence[Finding]
) -> Ranks:
    """Ranks that the cause would be about, by the first of these that names any."""
    told = (
        *(c.culprits for c in diagnosis.candidates if c.cause is cause),
        diagnosis.culprits,
        *(f.culprits for f in findings if f.cause is None and len(f.culprits) == 1),
    )
    named = next((culprits for culprits in told if culprits), NO_RANKS)
    if named:
        return named
    if cause in OF_ONE_RANK:
        return _first_gone(incident)
    if cause in (Cause.CHECKPOINT_SLOW, Cause.EVAL_SLOW, Cause.DATA_SLOW, Cause.COMPILE_SLOW):
        return _at_work(incident) or _not_in_the_call(incident)
    return _not_in_the_call(incident)


def _first_gone(incident: Incident) -> Ranks:
    """The rank whose failure of its own comes first, where it is the only one of its manner."""
    own = [f for f in incident.failures if f.manner not in VICTIM_MANNERS]
    first = next((f for f in own if f.rank is not None), None)
    if first is None or first.rank is None:
        return NO_RANKS
    alike = {f.rank for f in own if f.manner is first.manner}
    alone = len(alike) == 1 or first.manner is Manner.KILLED
    return frozenset({first.rank}) if alone else NO_RANKS


def _at_work(incident: Incident) -> Ranks:
    """The rank that shows work which was under way, where only one does."""
    shown: set[Rank] = {p.rank for p in incident.open_phases if p.rank is not None and p.unfinished}
    return frozenset(shown) if len(shown) == 1 and not shown & incident.gave_up else NO_RANKS


def _not_in_the_call(incident: Incident) -> Ranks:
    """The only rank that the waits leave open."""
    undecided = incident.waits.undecided
    if undecided is None or len(undecided.ranks) != 1:
        return NO_RANKS
    return frozenset(undecided.ranks)


def _decides(incident: Incident, cause: Cause) -> Collect:
    topic = _DECIDES.get(cause, "stacks" if incident.calls or incident.stances else "before")
    return Collect.of(topic)
