"""How far "this work outlasted the others' wait" is carried by the evidence."""

from __future__ import annotations

import enum

from unhang.model.events import (
    DeviceGuessed,
    Fact,
    GlooFault,
    GlooProblem,
    PhaseMark,
    Progress,
)
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.incident import VICTIM_MANNERS, Call, Incident
from unhang.model.phases import Phase
from unhang.model.provenance import Message, say
from unhang.model.stack_states import Doing
from unhang.rules.shared import order
from unhang.rules.slow.waiting import OthersWait, WaitKind, is_cut
from unhang.rules.slow.work import Work

_AT_START = frozenset({Phase.DATA, Phase.LOAD, Phase.COMPILE})
"""Work that belongs before the first steps."""

_LONG_ITEMS = frozenset({Phase.SAVE, Phase.LOAD})
"""Work whose first item may take minutes."""

_USUAL_VOICE = Rank(0)
"""What nobody signed is nearly always printed by rank 0."""

_MANY_LINES = 300
"""After so many lines a mark is hardly the last thing that was printed, even by many ranks."""

_SENT_BY_ONE = frozenset({"BROADCAST", "SCATTER", "ALLGATHER"})
"""Operations by which one rank's result, or its length, reaches the others."""

_BEGIN_S, _BEGIN = 2.0, 0.01
"""How far the begin of a work may lie before that of the wait: seconds, and share of the limit."""

_STEPS_OF_LIFE = 3
_SOME = 2

_EARLY = 500
"""Sequence numbers up to here belong to set-up and the first steps."""

_DEFAULT_LIMITS_S = (600.0, 1800.0, 3600.0)
"""Time-outs that PyTorch and the frameworks set where the user sets none."""

_CLOSE = 0.05
"""Share by which a bar may miss a default time-out and still show it."""

_FITS = 0.8
_STALE = 3.0
_SLACK_S = 60.0
"""A mark is stale when it is older than `_STALE` time-outs and some slack: the wait began later."""


class Fit(enum.Enum):
    """How the work's length compares with the time-out."""

    FITS = "fits"
    SHORT = "short"
    STALE = "stale"
    UNKNOWN = "unknown"


def fit(work: Work, wait: OthersWait) -> Fit:
    """Compare how long the work had lasted with how long the others waited."""
    if work.lasted_s is None:
        return Fit.UNKNOWN
    if wait.limit_s is None:
        return _fit_defaults(work, work.lasted_s)
    if work.lasted_s < _FITS * wait.limit_s:
        return Fit.SHORT if _stood_still(work, wait.limit_s) else Fit.UNKNOWN
    if work.bar is None and work.lasted_s > _STALE * wait.limit_s + _SLACK_S:
        return Fit.STALE
    return Fit.FITS


def _stood_still(work: Work, limit_s: float) -> bool:
    """Whether the work is too short; a bar also counts the item that it had not finished."""
    if work.bar is None or work.lasted_s is None:
        return True
    if work.bar.elapsed_s is None:
        return False
    if work.bar.done == 0:
        return work.phase.phase not in _LONG_ITEMS
    item_s = work.bar.elapsed_s / work.bar.done
    return work.lasted_s + item_s < _FITS * limit_s


def _fit_defaults(work: Work, lasted_s: float) -> Fit:
    """Where no line tells the limit a bar may show it: it stands at a default, or above all."""
    if work.bar is None or work.bar.elapsed_s is None:
        return Fit.UNKNOWN
    stands = any(abs(lasted_s - limit) <= _CLOSE * limit for limit in _DEFAULT_LIMITS_S)
    return Fit.FITS if stands or lasted_s > max(_DEFAULT_LIMITS_S) else Fit.UNKNOWN


def weigh(incident: Incident, work: Work, wait: OthersWait) -> tuple[Strength, Message | None]:
    """Return how strong the claim is, and what speaks against it."""
    against = _against(incident, work, wait)
    if against is not None:
        return Strength.HINTS, against
    fitting = fit(work, wait)
    if fitting is Fit.STALE and not work.went_on:
        return Strength.HINTS, say(
            "SLO.against_stale",
            "The work began long before the wait did: its end may simply not have been logged.",
        )
    if fitting in (Fit.FITS, Fit.STALE):
        return _weigh_measured(incident, work, wait), None
    alive = work.went_on or work.kept_on
    if fitting is Fit.SHORT and work.phase.phase is not Phase.DATA and not alive:
        # data are prepared in several steps, and an earlier one may not have shown a bar
        return Strength.HINTS, say(
            "SLO.against_short",
            "The work had lasted only {lasted_s:s}, less than the timeout of {limit_s:s}: it"
            " may itself have hung.",
            lasted_s=work.lasted_s,
            limit_s=wait.limit_s,
        )
    return _weigh_unmeasured(incident, work, wait)


def _weigh_measured(incident: Incident, work: Work, wait: OthersWait) -> Strength:
    """The work lasted as long as the wait.

    A bar that advanced all the time proves work. A mark cannot tell slow from stuck, unless the
    rank gives signs of life after the alarm, or the others say that it is the one they wait for.
    """
    if work.bar is not None and work.bar.elapsed_s is not None:
        return Strength.PROVES
    named = _is_named(incident, work, wait)
    return Strength.PROVES if work.went_on or named else Strength.SUPPORTS


def _is_named(incident: Incident, work: Work, wait: OthersWait) -> bool:
    """Whether the others wait for the very rank that is at work, and are not at it themselves."""
    named = work.phase.rank is not None and wait.awaited == {work.phase.rank}
    return named and not _waiters_began_it(incident, work, wait)


def _weigh_unmeasured(
    incident: Incident, work: Work, wait: OthersWait
) -> tuple[Strength, Message | None]:
    """No clock tells: the last thing printed decides, if the others wait where nobody works."""
    if _is_named(incident, work, wait):
        return Strength.PROVES, None
    if work.phase.rank is None and (_in_the_wait(work, wait) or wait.awaited == {_USUAL_VOICE}):
        return Strength.SUPPORTS, None
    if work.went_on and work.phase.phase not in _AT_START:
        return Strength.SUPPORTS, None  # it was alive at this when the others had given up
    if is_cut(wait.alarm) and work.phase.phase in _AT_START and work.phase.rank is not None:
        # only this rank does the work, so the traceback is most likely of one that waited
        return Strength.SUPPORTS, say("SLO.against_cut", "The last line of the traceback is lost.")
    if wait.kind not in (WaitKind.BARRIER, WaitKind.SETUP) and not (
        is_missing(work, wait) or _awaits_result(work, wait)
    ):
        return Strength.HINTS, say(
            "SLO.against_tensor",
            "The others wait in a collective of the model, and no times tell how long the work"
            " had lasted.",
        )
    if work.phase.phase in _AT_START:
        if wait.seq is not None and wait.seq > _EARLY:
            return Strength.HINTS, say(
                "SLO.against_late",
                "{seq} collectives have passed: the line may belong to the start of the job.",
                seq=wait.seq,
            )
        if not _is_specific(work) and wait.kind is not WaitKind.SETUP:
            return Strength.HINTS, say(
                "SLO.against_vague",
                "The first collectives may also fail because of the network or the choice of "
                "device.",
            )
    return Strength.SUPPORTS, None


def _in_the_wait(work: Work, wait: OthersWait) -> bool:
    """Whether it began when all but one rank began to wait: none of these prints anything then."""
    lasted_s = work.phase.lasted_s
    if wait.missing is None or wait.limit_s is None or lasted_s is None:
        return False
    return lasted_s <= wait.limit_s + max(_BEGIN_S, _BEGIN * wait.limit_s)


def is_missing(work: Work, wait: OthersWait) -> bool:
    """Whether the rank at work is the only one that does not wait."""
    rank = work.phase.rank if work.phase.rank is not None else _USUAL_VOICE
    return wait.missing == rank


def _awaits_result(work: Work, wait: OthersWait) -> bool:
    """Whether only one rank works, and the others wait for what it sends, of unknown size.

    Old versions print no sizes: a result or a flag then looks like a tensor.
    """
    if wait.kind is not WaitKind.UNKNOWN or wait.call is None or not work.phase.exclusive:
        return False
    return work.phase.phase not in _AT_START and wait.call.ops <= _SENT_BY_ONE


def _is_specific(work: Work) -> bool:
    """A bar, a framework's own text or a text with a rank; not just any `Loading …`."""
    if not isinstance(work.mark, PhaseMark) or work.phase.phase is Phase.COMPILE:
        return True
    return work.mark.framework is not None or work.phase.rank is not None


def find_rival(incident: Incident, wait: OthersWait) -> Message | None:
    """What explains the wait without any slow work, or None."""
    if order.stop_before(incident, wait.alarm) is not None:
        return say("SLO.against_stopped", "The job was stopped from outside before.")
    if _failed_first(incident, wait):
        return say("SLO.against_failure", "Something else failed, perhaps earlier.")
    if ranks_differ(incident):
        return say("SLO.against_desync", "Ranks issued different calls, or run different models.")
    if _survived(incident, wait):
        return say("SLO.against_survived", "Training went on after the time-out.")
    return None


def _survived(incident: Incident, wait: OthersWait) -> bool:
    """Whether training went on after the alarm; one or two steps may have stood in a buffer."""
    later = {
        p.done
        for p in incident.all(Progress)
        if p.phase is Phase.TRAIN and order.is_before(wait.alarm, p) is True
    }
    return len(later) >= _STEPS_OF_LIFE


def _against(incident: Incident, work: Work, wait: OthersWait) -> Message | None:
    """What makes the work a bystander of something else, or None."""
    rival = find_rival(incident, wait)
    if rival is not None:
        return rival
    rank = work.phase.rank
    speaker = rank if rank is not None else _USUAL_VOICE
    others = rank is None and (is_elsewhere(incident, work, wait) or _in_the_wait(work, wait))
    if speaker in wait.ranks and not others:
        return say(
            "SLO.against_joined",
            "{ranks:ranks} waits in the collective too, so it was not at work.",
            ranks=frozenset({speaker}),
        )
    if _nobody_is_at(incident, work):
        return say(
            "SLO.against_stacks",
            "According to the stacks, nobody is doing this work: the ranks in it wait for others.",
        )
    if rank is not None and wait.awaited and rank not in wait.awaited:
        return say(
            "SLO.against_awaited",
            "The others wait for {ranks:ranks}, which is not the one at work.",
            ranks=wait.awaited,
        )
    if not work.phase.unfinished:
        return say(
            "SLO.against_unseen",
            "The beginning of this work was not seen: it may have been over already.",
        )
    if work.is_done:
        return say("SLO.against_done", "Its bar stands at 100 %: the work itself was done.")
    if _waiters_began_it(incident, work, wait) and not is_missing(work, wait):
        return say(
            "SLO.against_alike",
            "Ranks that wait have begun the same, and no line tells that they ended it either.",
        )
    if work.bar is None and _lines_between(work, wait) > _MANY_LINES:
        return say(
            "SLO.against_lines",
            "{lines} lines stand between it and the time-out: its end may merely not be"
            " recognized.",
            lines=_lines_between(work, wait),
        )
    if incident.all(DeviceGuessed) and fit(work, wait) is not Fit.FITS:
        return say(
            "SLO.against_device",
            "A barrier ran before the GPU of each rank was chosen, which hangs in the same way.",
        )
    return None


def _waiters_began_it(incident: Incident, work: Work, wait: OthersWait) -> bool:
    """Whether ranks that wait are by their marks at the same work: its end is not logged then."""
    return work.bar is None and any(
        p.phase is work.phase.phase and p.unfinished and p.rank in wait.ranks
        for p in incident.open_phases
        if p.rank is not None and p.rank != work.phase.rank
    )


def _nobody_is_at(incident: Incident, work: Work) -> bool:
    """Whether stacks of the whole job, as far as its size is told, show nobody at this work."""
    stood = incident.stances
    whole = len(stood) >= (incident.world.size or _SOME)
    there = [s for s in stood if s.phase in (work.phase.phase, None)] or stood
    # A step of the model is none of a checkpoint's work, although it may be one of an evaluation's.
    others = _NO_SAVE if work.phase.phase is Phase.SAVE else frozenset({Doing.WAITS})
    return whole and all(s.doing in others for s in there)


_NO_SAVE = frozenset({Doing.WAITS, Doing.STEPS, Doing.DEVICE})


def is_elsewhere(incident: Incident, work: Work, wait: OthersWait) -> bool:
    """Whether the work is done on a host on which no rank waits, as far as their hosts are told."""
    if _is_in_a_file_of_others(incident, work, wait):
        return True
    host = work.mark.origin.host
    facts = [incident.roster.get(waiter) for waiter in wait.ranks]
    hosts = {None if fact is None else fact.host for fact in facts}
    return host is not None and bool(hosts) and None not in hosts and host not in hosts


def _is_in_a_file_of_others(incident: Incident, work: Work, wait: OthersWait) -> bool:
    """Whether it stands in a file in which ranks speak, but none of those that wait."""
    here = frozenset(
        e.origin.rank
        for e in incident.events
        if e.source.artifact == work.mark.source.artifact and e.origin.rank is not None
    )
    elsewhere = any(t.source.artifact != work.mark.source.artifact for t in incident.timeouts)
    return elsewhere and bool(here) and not here & wait.ranks


def _lines_between(work: Work, wait: OthersWait) -> int:
    """Lines of one artifact between a mark and the alarm; 0 where they stand in two."""
    mark, alarm = work.mark.source, wait.alarm.source
    if mark.artifact != alarm.artifact or mark.line is None or alarm.line is None:
        return 0
    return alarm.line - mark.line


def _failed_first(incident: Incident, wait: OthersWait) -> bool:
    """Whether a process failed by itself, in a way that tells why, and not surely afterwards."""
    if any(not _is_echo(incident, wait, t) for t in order.troubles_before(incident, wait.alarm)):
        return True
    return any(
        f.manner in order.DECISIVE
        and order.is_before(wait.alarm, f) is not True
        and not any(is_cut(event) for event in f.events)
        for f in incident.failures
    )


def _is_echo(incident: Incident, wait: OthersWait, trouble: order.Placed) -> bool:
    """Whether a peer closed a connection although nobody failed by itself.

    Ranks give up within the same moment, and their words reach one log in any order: the peer was
    one that had timed out. Nobody is unaccounted for who might have died instead.
    """
    return (
        isinstance(trouble, GlooFault)
        and trouble.problem is GlooProblem.PEER_CLOSED
        and wait.missing is not None
        and all(f.manner in VICTIM_MANNERS for f in incident.failures)
    )


def ranks_differ(incident: Incident) -> bool:
    """Whether ranks issued different calls, or run different models."""
    if incident.shows(Fact.FINGERPRINTS):
        return True
    return any(_differs(call) for call in incident.calls)


def _differs(call: Call) -> bool:
    sizes = {j.numel_in for j in call.sides if j.numel_in is not None}
    return len(call.ops) > 1 or len(sizes) > 1
