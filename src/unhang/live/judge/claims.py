"""From who waits for whom to what is held against the ranks that everybody waits for in the end.

A rank that others wait for and that waits for nobody is judged by its own condition: gone, stopped,
frozen, asleep, or at work. Where no such rank exists, the ranks wait for each other (a circle of
groups), or all wait in one call (it differs between them, or the network does not carry it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from unhang.live.judge.conditions import judge, stage_at, where_of
from unhang.live.judge.echoes import raised_second_hand
from unhang.live.judge.named_waits import names_a_rank
from unhang.live.judge.patience import Patience, Stood
from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import DurationKind, Where
from unhang.live.judge.waits import (
    is_by_stack,
    is_pairwise,
    open_calls,
    surely_lacks,
)
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.phases import Phase
from unhang.model.waits import Analysis, CallRef, Wait, WaitEnd
from unhang.waitgraph import WaitGraph

_FRESH = 3
"""Reports in a row, before anything is held against anybody."""
_WAITED_S = 1.0
"""Nobody is held up by a rank that others have waited for less long."""
_UNSEEN_S, _LATEST_S = 8.0, 60.0
"""Least and most that ranks are waited for which have not been seen yet."""
_CIRCLE_S = 3.0
_BETWEEN_S = 6.0
"""The same where two ranks wait for each other alone: what one of them sent before may be on its
way."""
_DIFFER_S = 1.5
_BROKEN_S = 30.0
"""A launcher ends the others before; a link that fails may keep it from doing so."""
_TOGETHER_S = 5.0
_TWO = 2
_OVERDUE_S = 5.0
"""A rank that is through, after another one has ended well, leaves without a sign for so long."""
_FIRST_CALL = 5.0
"""The first call of a group also connects its members, which takes its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What is held against some ranks at one moment.

    Attributes:
        victims: ranks that wait for them, directly or through others.
        still_s: how long the fact has been observed, or None where the culprits move.
        waited_s: how long the first victim has waited.
        stage: how far the observed times carry it.
        lifeless_s: of what does not prove a hang by itself: for how long no sign of life was seen.
        patience_s: for how long that may last before the job is ended; None = it is proved.
        lives: signs of life of the last seconds.
        where: place and phase of the culprits, by which is remembered how long they stand there.
        place: the program's own code where the first of them stands; "" = nothing tells.
        borne_out: more than the name of a function of the program tells the phase.
        between: the pairs of ranks of which one waits for the other alone, with what it waits in.
        ask: the dumps of all ranks would decide.
    """

    charge: SuspicionReason
    culprits: Ranks
    victims: Ranks
    call: CallRef
    phase: Phase | None = None
    still_s: float | None = None
    waited_s: float
    stage: Stage
    lifeless_s: float | None = None
    patience_s: float | None = None
    lives: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()
    place: str = ""
    borne_out: bool = False
    between: tuple[tuple[Rank, Rank, str], ...] = ()
    ask: bool = False


def find_claims(
    tracks: Mapping[Rank, Track], found: Analysis, patience: Patience
) -> tuple[Claim, ...]:
    """Return all claims of one moment, the gravest first.

    Args:
        tracks: the present process of each rank whose host is heard.
        found: what the waits of a snapshot of these come to.
        patience: how long the ranks of this job are left alone.
    """
    ends = {end.rank: end for end in found.ends}
    if _is_ending(tracks):
        ends = {rank: end for rank, end in ends.items() if not tracks[rank].departs}
    graph = WaitGraph(found.waits)
    claims = [_against(end, graph.victims(rank), patience, tracks) for rank, end in ends.items()]
    claims = _beside_work(claims)
    late = frozenset(ends)
    claims.extend(_broken(wait, tracks) for wait in found.waits if _is_broken(wait, late, tracks))
    claims.extend(_among(found, tracks, patience))
    claims.extend(_unseen(w, tracks) for w in found.waits if w.unknown and not w.awaited)
    claims.extend(_overdue(tracks))
    return tuple(sorted(claims, key=lambda c: -GRAVITY[c.stage]))


GRAVITY = {Stage.WATCHED: 0, Stage.SUSPECTED: 1, Stage.CONFIRMED: 2}


def _beside_work(claims: list[Claim]) -> list[Claim]:
    """A rank that stands beside one that works may wait for that one, by a file or a socket."""
    if not any(
        claim.charge in {SuspicionReason.AT_WORK, SuspicionReason.SPINNING} for claim in claims
    ):
        return claims
    return [
        replace(claim, stage=Stage.SUSPECTED)
        if claim.patience_s is not None and claim.stage is Stage.CONFIRMED
        else claim
        for claim in claims
    ]


def _is_ending(tracks: Mapping[Rank, Track]) -> bool:
    """Whether the job comes to its end, well or not: then the last ones wait for nobody's fault."""
    departing = sum(track.departs for track in tracks.values())
    return 2 * departing > len(tracks)


def _against(
    end: WaitEnd, victims: Ranks, patience: Patience, tracks: Mapping[Rank, Track]
) -> Claim:
    rank, track = end.rank, tracks[end.rank]
    waited_s = max(_waited_s(wait) for wait in end.lacks)
    verdict = judge(track, patience.usual)
    claim = Claim(
        charge=verdict.charge,
        culprits=frozenset({rank}),
        victims=victims,
        call=end.lacks[0].call,
        phase=verdict.phase,
        still_s=verdict.still_s,
        waited_s=waited_s,
        stage=Stage.WATCHED,
        lives=track.lives(verdict.still_s),
        where=where_of(track),
    )
    if waited_s < _WAITED_S or not _fresh((rank,), tracks):
        return claim
    if verdict.charge is SuspicionReason.STOPPED and _all_stopped(tracks, victims):
        return claim
    if verdict.proved and any(surely_lacks(wait, track, tracks) for wait in end.lacks):
        return replace(claim, stage=Stage.CONFIRMED)
    if not verdict.suspected:
        return claim
    if verdict.charge is SuspicionReason.RAISED and not track.ended:
        return replace(claim, stage=Stage.SUSPECTED)  # something of it moves yet: a last save
    stood = Stood(
        ranks=len(victims) + 1,
        waited_s=waited_s,
        limit_s=_limit_s(end.lacks),
        alone=track.alone,
        stirs=track.stirs,
    )
    needed_s = patience.needed_s(stood, *claim.where)
    lifeless_s = min(track.still.lifeless_s, waited_s)
    if track.ended:  # the others may wait for something else, or for what it has left to them
        waiters = NO_RANKS.union(*(wait.waiters for wait in end.lacks)) & tracks.keys()
        lifeless_s = min((tracks[r].still.lifeless_s for r in waiters), default=0.0)
    return replace(
        claim,
        stage=Stage.CONFIRMED if lifeless_s >= needed_s else Stage.SUSPECTED,
        lifeless_s=lifeless_s,
        patience_s=needed_s,
    )


def _is_broken(wait: Wait, ends: Ranks, tracks: Mapping[Rank, Track]) -> bool:
    """Whether all that is missing is ranks whose collective failed: nobody's own fault."""
    late = wait.awaited & ends
    return bool(late) and all(raised_second_hand(tracks[rank]) for rank in late)


def _broken(wait: Wait, tracks: Mapping[Rank, Track]) -> Claim:
    """A link, or something that nobody saw, broke a call; those that still wait do so for ever."""
    broken_s = min(tracks[r].still.leaving_s for r in wait.awaited if tracks[r].departs)
    still_s = min(broken_s, _settled_s(wait))
    return Claim(
        charge=SuspicionReason.TOGETHER,
        culprits=NO_RANKS,
        victims=wait.held_up,
        call=wait.call,
        phase=phase_of(wait.held_up, tracks),
        still_s=still_s,
        waited_s=_waited_s(wait),
        stage=stage_at(still_s, _BROKEN_S / 2, _BROKEN_S),
    )


def _fresh(ranks: Iterable[Rank], tracks: Mapping[Rank, Track]) -> bool:
    """Whether the reports of some ranks came without a gap for a while."""
    return all(tracks[rank].looks >= _FRESH for rank in ranks if rank in tracks)


def _unseen(wait: Wait, tracks: Mapping[Rank, Track]) -> Claim:
    """Ranks that nobody has seen, or whose host is silent: never more than a suspicion.

    Those that are about to start may take twice as long as the others did: a busy host.
    """
    came = (tracks[rank].came_s for rank in wait.waiters if rank in tracks)
    slowest_s = max((seconds for seconds in came if seconds is not None), default=0.0)
    usual_s = min(max(_UNSEEN_S, 2 * slowest_s), _LATEST_S)
    return Claim(
        charge=SuspicionReason.NEVER_CAME,
        culprits=frozenset(wait.unknown),
        victims=wait.waiters,
        call=wait.call,
        waited_s=_waited_s(wait),
        stage=Stage.SUSPECTED if _waited_s(wait) >= usual_s else Stage.WATCHED,
    )


def _all_stopped(tracks: Mapping[Rank, Track], victims: Ranks) -> bool:
    """Whether somebody stopped the whole job, or has just let it go on."""
    return not any(not tracks[r].stopped and tracks[r].looks > 2 for r in victims if r in tracks)


def _overdue(tracks: Mapping[Rank, Track]) -> list[Claim]:
    """Ranks whose program is through, as others' are that have ended: the launcher waits for them.

    What a program registers for its exit may take its time, so this is never more than a suspicion.
    """
    ended = frozenset(rank for rank, track in tracks.items() if track.ended)
    stay = {rank: track for rank, track in tracks.items() if rank not in ended}
    if not ended or any(not track.departs for track in stay.values()):
        return []
    if any(track.failed for track in tracks.values()):
        return []  # the launcher ends the others
    return [
        Claim(
            charge=SuspicionReason.LEFT,
            culprits=frozenset({rank}),
            victims=ended,
            call=CallRef(),
            still_s=_quiet_s(track),
            waited_s=min(track.still.leaving_s, *(tracks[r].still.ended_s for r in ended)),
            stage=Stage.SUSPECTED if _quiet_s(track) >= _OVERDUE_S else Stage.WATCHED,
            lives=track.lives(track.still.whole_s),
            where=where_of(track),
        )
        for rank, track in stay.items()
        if _fresh((rank,), tracks)
    ]


def _quiet_s(track: Track) -> float:
    """Since when nothing moves of a rank that is through."""
    return min(track.still.whole_s, track.still.leaving_s)


def _among(found: Analysis, tracks: Mapping[Rank, Track], patience: Patience) -> list[Claim]:
    """Claims where nobody outside of the waits can be to blame."""
    cycle = {id(w) for c in found.cycles if not c.leads_out for w in c.waits}
    waits = [wait for wait in found.waits if id(wait) in cycle]
    stuck = NO_RANKS.union(*(wait.held_up for wait in waits))
    # Whose other members wait for each other elsewhere is a victim of these.
    apart = [w for w in found.together if not (w.call.members - w.held_up) & stuck]
    if apart or not waits:
        return [_together(wait, tracks, patience) for wait in apart]
    behind = NO_RANKS.union(*(wait.held_up for wait in found.together))
    return [_circle(waits, behind, tracks, patience)]


def _together(wait: Wait, tracks: Mapping[Rank, Track], patience: Patience) -> Claim:
    """All members wait in one call."""
    settled_s = _settled_s(wait)
    sides = sorted((variant.ranks for variant in wait.variants), key=len)
    pairs = is_pairwise(wait, tracks)
    differ = len(sides) == 2 and not pairs and _is_last_call(wait, tracks)
    moving = any(_moves(tracks[r]) for r in wait.held_up) or not _fresh(wait.held_up, tracks)
    suspect_s = max(_TOGETHER_S, 3 * patience.usual.usual_s(DurationKind.TOGETHER, None))
    if (wait.call.seq is not None and wait.call.seq <= 1) or is_by_stack(wait):
        suspect_s *= _FIRST_CALL
    if differ:
        suspect_s = _DIFFER_S
    odd = sides[0] if differ and len(sides[0]) < len(sides[1]) else NO_RANKS
    victims = wait.held_up - odd
    if differ and not odd and all(len(side) == 1 for side in sides):
        odd, victims = NO_RANKS.union(*sides), NO_RANKS  # it is between these two
    stood = Stood(ranks=len(wait.held_up), waited_s=_waited_s(wait), limit_s=wait.limit_s)
    needed_s = patience.needed_s(stood)
    stage = stage_at(settled_s, suspect_s, needed_s)
    return Claim(
        charge=SuspicionReason.MISMATCH if differ else SuspicionReason.TOGETHER,
        culprits=odd,
        victims=victims,
        call=wait.call,
        phase=phase_of(wait.held_up, tracks),
        still_s=settled_s,
        waited_s=_waited_s(wait),
        stage=Stage.WATCHED if moving else stage,
        lifeless_s=settled_s,
        patience_s=needed_s,
        ask=not moving,
    )


def _limit_s(waits: Iterable[Wait]) -> float | None:
    """How long the program itself would have waited: where nobody works, more is no patience."""
    return min((wait.limit_s for wait in waits if wait.limit_s is not None), default=None)


def _waited_s(wait: Wait) -> float:
    return wait.waited_s or 0.0


def _settled_s(wait: Wait) -> float:
    return wait.settled_s or 0.0


def _is_last_call(wait: Wait, tracks: Mapping[Rank, Track]) -> bool:
    """Whether the waiters have issued nothing after the call, so that their stacks stand in it."""
    if wait.call.group is None:
        return False
    return all(
        tracks[r].beat.groups[wait.call.group].enqueued == wait.call.seq for r in wait.waiters
    )


def _circle(
    waits: Sequence[Wait], behind: Ranks, tracks: Mapping[Rank, Track], patience: Patience
) -> Claim:
    """Ranks wait for each other, and those behind for them."""
    largest = waits[0]
    everybody = NO_RANKS.union(*(wait.held_up for wait in waits))
    pairs = [wait for wait in waits if names_a_rank(wait)]
    odd = _crossed(pairs, tracks) if pairs else _fewest(waits)
    # Whom a rank waits for by a handle is not seen; that the others wait for it is.
    by_handle = (r for r in everybody if tracks[r].place.handle and not open_calls(tracks[r]))
    dim = frozenset(by_handle)
    if dim:
        odd = dim if 2 * len(dim) < len(everybody) else NO_RANKS
    elif any(_differs(wait, tracks) for wait in waits):
        odd = _astray(waits, tracks)
    elif not odd and len(everybody) == _TWO:
        odd = everybody  # it is between these two, whichever is wrong
    settled_s = min(_settled_s(wait) for wait in waits)
    sure = not dim and all(_surely_waits(tracks[r]) for r in everybody)
    proved = sure and not any(is_pairwise(w, tracks) and not names_a_rank(w) for w in waits)
    # What the main thread of a rank keeps the others waiting for another thread of it may do.
    proved = proved and not any(tracks[r].place.helped for r in everybody)
    stood = Stood(ranks=len(everybody), waited_s=_waited_s(largest), limit_s=_limit_s(waits))
    needed_s = patience.needed_s(stood)
    proved_s = _BETWEEN_S if pairs else _CIRCLE_S
    stage = stage_at(settled_s, _CIRCLE_S / 2, proved_s if proved else needed_s)
    return Claim(
        charge=SuspicionReason.CIRCLE,
        culprits=odd,
        victims=everybody - odd | behind,
        call=largest.call,
        phase=phase_of(odd or everybody, tracks),
        still_s=settled_s,
        waited_s=_waited_s(largest),
        stage=stage if _fresh(everybody, tracks) else Stage.WATCHED,
        lifeless_s=None if proved else settled_s,
        patience_s=None if proved else needed_s,
        between=tuple((min(w.waiters), min(w.awaited), w.call.op or "") for w in pairs),
        ask=True,
    )


def _crossed(pairs: Sequence[Wait], tracks: Mapping[Rank, Track]) -> Ranks:
    """Who is in most of the messages that miss each other; all of them where none stands out.

    One sends while the other receives, and either means another rank or gives another tag. Which of
    two is wrong nobody can tell; but who waits in vain for one rank, and lets another one wait in
    vain, explains both. That a rank sends first and receives then contradicts nothing.
    """
    calls = {rank: call for rank, t in tracks.items() if (call := t.beat.call) is not None}
    missed: Counter[Rank] = Counter()
    for wait in pairs:
        (rank, *_), (other, *_) = sorted(wait.waiters), sorted(wait.awaited or wait.waiters)
        both = {calls[rank].op, calls[other].op} if {rank, other} <= calls.keys() else set()
        if both == {"send", "recv"}:
            missed.update((rank, other))
    most = max(missed.values(), default=0)
    odd = frozenset(rank for rank, times in missed.items() if times == most)
    return odd or NO_RANKS.union(*(wait.waiters | wait.awaited for wait in pairs))


def _fewest(waits: Sequence[Wait]) -> Ranks:
    """Who chose another call than most of those that are members of all of them; both of two.

    Members of one call alone had no choice: that they wait in it speaks for nobody.
    """
    members: Ranks = reduce(and_, (frozenset(wait.call.members) for wait in waits))
    sides = sorted((side for wait in waits if (side := wait.held_up & members)), key=len)
    if len(sides) != _TWO:
        largest = waits[0]
        few = largest.awaited & NO_RANKS.union(*(wait.held_up for wait in waits))
        return few if len(few) < len(largest.waiters) else NO_RANKS
    if len(sides[0]) < len(sides[1]):
        return sides[0]
    return sides[0] | sides[1] if len(sides[0] | sides[1]) == _TWO else NO_RANKS


def _differs(wait: Wait, tracks: Mapping[Rank, Track]) -> bool:
    """Whether the waiters stand in different calls of their group."""
    return len(wait.variants) > 1 and not is_pairwise(wait, tracks)


def _astray(waits: Sequence[Wait], tracks: Mapping[Rank, Track]) -> Ranks:
    """Who stands in another call than the others of its group, and is missing from its own.

    Who is missing from the calls that differ may only wait for these.
    """
    found = NO_RANKS
    for wait in waits:
        if _differs(wait, tracks):
            awaited = NO_RANKS.union(*(other.awaited for other in waits if other is not wait))
            sides = [v.ranks for v in wait.variants if v.ranks <= awaited]
            found |= sides[0] if len(sides) == 1 else NO_RANKS
    return found


def _surely_waits(track: Track) -> bool:
    """Whether a rank surely does nothing but wait; on a GPU only its own stack can say so."""
    if track.facts.lock_holder is not None:
        return not _moves(track)
    if track.beat.device == "cuda":
        return track.place.waits
    return track.place.may_wait and not _moves(track)


def _moves(track: Track) -> bool:
    """Whether something of a waiting rank moves, or would if it had a core.

    On a GPU the transport spins while it waits.
    """
    return track.beat.device != "cuda" and (track.still.whole_s < 1.0 or track.starves)


def placed(claim: Claim, tracks: Mapping[Rank, Track]) -> Claim:
    """A claim with where its ranks stand now, which their stacks may no longer tell later."""
    ranks = sorted(claim.culprits or claim.victims)
    stand = [tracks[rank].place for rank in ranks if rank in tracks]
    return replace(
        claim,
        place=next((at.place for at in stand if at.place), ""),
        borne_out=any(at.certain or at.fits for at in stand),
    )


def phase_of(ranks: Iterable[Rank], tracks: Mapping[Rank, Track]) -> Phase | None:
    """The phase that some ranks are in, where it is one."""
    phases = {tracks[rank].place.phase for rank in ranks if rank in tracks}
    return phases.pop() if len(phases) == 1 else None
