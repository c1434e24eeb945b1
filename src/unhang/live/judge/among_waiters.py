"""What is held against ranks that all wait, where nobody outside of the waits can be to blame.

They wait for each other (a circle of groups, or of two ranks), or all in one call: it differs
between them, or the network does not carry it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from operator import and_

from unhang.live.judge.claim import Claim, is_fresh, lasted_s, limit_s, phase_of
from unhang.live.judge.conditions import has_begun, stage_at, where_of
from unhang.live.judge.habits import strayed
from unhang.live.judge.named_waits import LOCK, names_a_rank
from unhang.live.judge.patience import Patience, Stood
from unhang.live.judge.stack_waits import is_by_stack, is_pairwise
from unhang.live.judge.track import Track
from unhang.live.judge.usual_durations import DurationKind
from unhang.live.messages.job_snapshot import Stage, SuspicionReason
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.model.waits import Analysis, Wait

_CIRCLE_S = 3.0
_BETWEEN_S = 6.0
"""The same where two ranks wait for each other alone: what one of them sent before may be on its
way."""
_DIFFER_S = 1.5
_TOGETHER_S = 5.0
_TWO = 2
_FIRST_CALL = 5.0
"""The first call of a group also connects its members, which takes its time; so does to meet."""


def among_waiters(found: Analysis, tracks: Mapping[Rank, Track], patience: Patience) -> list[Claim]:
    """Claims where nobody outside of the waits can be to blame."""
    cycles = [cycle for cycle in found.cycles if not cycle.leads_out]
    cycle = {id(wait) for one in cycles for wait in one.waits}
    waits = [wait for wait in found.waits if id(wait) in cycle]
    stuck = NO_RANKS.union(*(wait.held_up for wait in waits))
    # Whose other members wait for each other elsewhere is a victim of these.
    apart = [w for w in found.together if not (w.call.members - w.held_up) & stuck]
    if apart or not waits:
        return [_together(wait, tracks, patience) for wait in apart]
    others = (w for w in found.waits if id(w) not in cycle and not names_a_rank(w))
    beside = [wait for wait in others if wait.awaited & stuck]
    behind = NO_RANKS.union(*(wait.held_up for wait in (*found.together, *beside)))
    within = NO_RANKS.union(*(one.ranks for one in cycles))
    return [_circle(waits, within, behind, tracks, patience)]


def _together(wait: Wait, tracks: Mapping[Rank, Track], patience: Patience) -> Claim:
    """All members wait in one call."""
    settled_s = wait.settled_s or 0.0
    sides = sorted((variant.ranks for variant in wait.variants), key=len)
    pairs = is_pairwise(wait, tracks)
    differ = len(sides) == 2 and not pairs and _is_last_call(wait, tracks)
    held = [tracks[rank] for rank in wait.held_up]
    moving = any(_moves(t) or t.starves for t in held) or not is_fresh(wait.held_up, tracks)
    suspect_s = max(_TOGETHER_S, 3 * patience.usual.usual_s(DurationKind.TOGETHER, None))
    by_handle = is_by_stack(wait) and all(track.place.handle for track in held)
    meets = is_by_stack(wait) and not (by_handle or all(map(has_begun, held)))
    if meets or (wait.call.seq is not None and wait.call.seq <= 1):
        suspect_s *= _FIRST_CALL
    if differ:
        suspect_s = _DIFFER_S
    odd = sides[0] if differ and len(sides[0]) < len(sides[1]) else NO_RANKS
    victims = wait.held_up - odd
    between = by_handle and len(held) == _TWO
    if between or (differ and not odd and all(len(side) == 1 for side in sides)):
        odd = wait.held_up if between else NO_RANKS.union(*sides)
        victims = NO_RANKS  # it is between these two
    found = strayed(wait.held_up if between or (differ and not victims) else NO_RANKS, tracks)
    stood = Stood(ranks=len(wait.held_up), waited_s=lasted_s(wait), limit_s=wait.limit_s)
    needed_s = patience.needed_s(stood)
    stage = stage_at(settled_s, suspect_s, needed_s)
    charge = SuspicionReason.MISMATCH if differ else SuspicionReason.TOGETHER
    return Claim(
        charge=SuspicionReason.CIRCLE if between else charge,
        culprits=found.ranks or odd,
        victims=wait.held_up - found.ranks if found.ranks else victims,
        call=wait.call,
        phase=phase_of(wait.held_up, tracks),
        still_s=settled_s,
        waited_s=lasted_s(wait),
        stage=Stage.WATCHED if moving else stage,
        lifeless_s=settled_s,
        patience_s=needed_s,
        between=tuple(
            (a, b, wait.call.op or "") for a, b in permutations(sorted(odd), _TWO) if between
        ),
        move=found.move,
        due=found.due,
        ask=not moving,
    )


def _is_last_call(wait: Wait, tracks: Mapping[Rank, Track]) -> bool:
    """Whether the waiters have issued nothing after the call, so that their stacks stand in it."""
    if wait.call.group is None or is_by_stack(wait):
        return False
    return all(
        tracks[r].beat.groups[wait.call.group].enqueued == wait.call.seq for r in wait.waiters
    )


def _circle(
    waits: Sequence[Wait],
    within: Ranks,
    behind: Ranks,
    tracks: Mapping[Rank, Track],
    patience: Patience,
) -> Claim:
    """Ranks wait for each other within a circle, and those behind for them."""
    everybody = NO_RANKS.union(*(wait.held_up for wait in waits))
    pairs = [wait for wait in waits if names_a_rank(wait)]
    odd = _crossed(pairs, tracks) if pairs else _fewest(waits)
    # Whom a rank waits for by a handle is not seen; that the others wait for it is.
    by_stack = NO_RANKS.union(*(wait.waiters for wait in waits if is_by_stack(wait)))
    dim = frozenset(rank for rank in by_stack if tracks[rank].place.handle)
    if dim:  # what they wait for need not be a call of the others
        odd = dim if 2 * len(dim) <= len(everybody) else NO_RANKS
    elif any(_differs(wait, tracks) for wait in waits):
        odd = _astray(waits, tracks)
    elif not odd:
        odd = within  # it is between these, whichever is wrong
    largest = next((wait for wait in waits if not (pairs or wait.waiters <= odd)), waits[0])
    settled_s = min((wait.settled_s or 0.0) for wait in waits)
    sure = not dim and all(_surely_waits(tracks[r]) for r in everybody)
    proved = sure and not any(is_pairwise(w, tracks) and not names_a_rank(w) for w in waits)
    # What the main thread of a rank keeps the others waiting for another thread of it may do.
    proved = proved and not any(tracks[r].place.helped for r in everybody)
    stood = Stood(ranks=len(everybody), waited_s=lasted_s(largest), limit_s=limit_s(waits))
    needed_s = patience.needed_s(stood)
    proved_s = _BETWEEN_S if pairs or odd == everybody else _CIRCLE_S
    suspect_s = _CIRCLE_S if dim else _CIRCLE_S / 2
    stage = stage_at(settled_s, suspect_s, proved_s if proved else needed_s)
    # It is known for how long; only who of them it was is told by what they did before. A lock
    # tells itself between whom it is, whatever calls of torch they came from.
    told = bool(dim) or len(odd) == 1 or any(wait.call.op == LOCK for wait in pairs)
    found = strayed(NO_RANKS if told else odd or within, tracks)
    odd = found.ranks or odd
    return Claim(
        charge=SuspicionReason.ASLEEP if dim and odd else SuspicionReason.CIRCLE,
        culprits=odd,
        victims=everybody - odd | behind,
        call=largest.call,
        phase=phase_of(odd or everybody, tracks),
        still_s=settled_s,
        waited_s=lasted_s(largest),
        stage=stage if is_fresh(everybody, tracks) else Stage.WATCHED,
        lifeless_s=None if proved else settled_s,
        patience_s=None if proved else needed_s,
        where=where_of(tracks[min(odd)]) if dim and odd else (),
        between=tuple((min(w.waiters), min(w.awaited), w.call.op or "") for w in pairs),
        move=found.move,
        due=found.due,
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
    # The others repeat a call of all; to make a group, or to meet, is done once.
    apart = [wait.held_up & members for wait in waits if is_by_stack(wait)]
    if len(apart) == 1 and len(sides[0]) == len(apart[0]):
        return apart[0]
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
    """Whether something of a waiting rank moves; on a GPU the transport spins while it waits."""
    return track.beat.device != "cuda" and track.still.whole_s < 1.0
