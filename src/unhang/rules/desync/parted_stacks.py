"""Splits the ranks of a job by the two waits that their stacks show."""

from __future__ import annotations

from collections.abc import Sequence

from unhang import lazy_re as re
from unhang.model.ids import Ranks
from unhang.model.incident import Incident
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing, StackState, StackStep
from unhang.rules.shared.stacks import find_wait_of_stacks, ranks, states_of

PARAMETERS = "deepspeed/runtime/zero/"
"""What gathers the parameters of one module after the other."""
_RUNS_AHEAD = re.compile(
    r"i?send\w*|i?recv\w*|batch_isend_irecv|broadcast\w*|scatter\w*|reduce|gather|gather_object|wait"
    r"|init_process_group"
)
_FROM_A_ROOT = re.compile(r"(?:broadcast|scatter)\w*")
_AFTER_THE_LOOP = re.compile(r"barrier|monitored_barrier|wait_for_everyone|destroy_process_group")
_HOOK_OF_AN_END = re.compile(r":on_(?:\w+_)?(?:epoch|train|fit)_end$")
"""What trainers call once a loop is over."""
_ENDS = frozenset({Phase.SAVE, Phase.EVAL, Phase.TEARDOWN})


def parted(incident: Incident) -> tuple[list[StackState], list[StackState], bool] | None:
    """Where the ranks of each of two waits stand, and whether the first alone are awaited."""
    stood = ranks(incident.stances)
    if not stood:
        return _parted_by_op(incident.stances)
    wait = find_wait_of_stacks(incident)
    if wait is None or wait.waiters != stood:
        return None
    if len(wait.variants) != 2:
        return _parted_by_module(incident.stances)
    sides = sorted((variant.ranks for variant in wait.variants), key=lambda r: (len(r), min(r)))
    late = next((side for side in sides if _is_awaited(incident, side, stood - side)), None)
    if late is not None:
        sides.sort(key=lambda side: side != late)
    few, many = (states_of(incident, side) for side in sides)
    return few, many, late is not None


def _parted_by_op(
    states: Sequence[StackState],
) -> tuple[list[StackState], list[StackState], bool] | None:
    """The same of processes whose ranks nobody tells: each of them must be in a wait."""
    by_op: dict[str | None, list[StackState]] = {}
    for state in states:
        by_op.setdefault(state.op if state.doing is Doing.WAITS else None, []).append(state)
    if None in by_op or len(by_op) != 2:
        return None
    few, many = sorted(by_op.values(), key=len)
    return few, many, False


def _parted_by_module(
    states: Sequence[StackState],
) -> tuple[list[StackState], list[StackState], bool] | None:
    """The same of ranks that all wait for parameters, a few for those of another part of the model.

    Ranks that merely run ahead of others wait for the next module of the same part.
    """
    by_way: dict[tuple[StackStep, ...], list[StackState]] = {}
    for state in states:
        if not gathers_parameters(state):
            return None
        by_way.setdefault(tuple(state.path), []).append(state)
    few, *rest = sorted(by_way.values(), key=len)
    if len(rest) != 1 or len(rest[0]) <= len(few):
        return None
    below = (
        [step for step in way if not step.place.startswith(PARAMETERS)]
        for way in parting(few[0], rest[0][0])[3]
    )
    return (few, rest[0], False) if all(len(way) > 1 for way in below) else None


def may_be_apart(few: Sequence[StackState], many: Sequence[StackState]) -> bool:
    """Whether one side may rightly be past what the other side is still in.

    Not where each needs a rank of the other side, by its variables; nor where all but one wait to
    be sent something by a root: a root that had passed would have sent it.
    """
    rooted = [s for s in (*few, *many) if _may_run_ahead(s)]
    if all(s.needs and s.needs & (ranks(few) if s in many else ranks(many)) for s in rooted):
        return False
    receive = all(_FROM_A_ROOT.fullmatch(_innermost(s)) is not None for s in many)
    return not (receive and len(few) == 1 < len(many) and not _may_run_ahead(few[0]))


def _may_run_ahead(state: StackState) -> bool:
    """Whether it waits in what has a root; parameters are gathered from all ranks by all."""
    return not gathers_parameters(state) and _RUNS_AHEAD.fullmatch(_innermost(state)) is not None


def _innermost(state: StackState) -> str:
    """The call that decides, below what libraries wrap around it."""
    return state.path[-1].place.rpartition(":")[2] if state.path else state.op or ""


def gathers_parameters(state: StackState) -> bool:
    """Whether it waits for the parameters of a module."""
    return bool(state.path) and state.path[-1].place.startswith(PARAMETERS)


def module_of(state: StackState) -> StackStep | None:
    """Where the program stands that needs the parameters."""
    outer = (step for step in reversed(state.path) if not step.place.startswith(PARAMETERS))
    return next(outer, None) if gathers_parameters(state) else None


def _is_awaited(incident: Incident, side: Ranks, others: Ranks) -> bool:
    """Whether all others gave up waiting by the logs, and these ranks, which wait too, did not."""
    gave_up = incident.gave_up
    waits = all(s.doing is Doing.WAITS or s.idle is True for s in states_of(incident, side))
    return waits and bool(others) and others <= gave_up and not side & gave_up


def past_the_loop(one: StackState, other: StackState) -> StackState | None:
    """The one that stands after a call that the other one is still in, and where loops end."""
    _, line, other_line, inside = parting(one, other)
    if line is None or other_line is None or line == other_line:
        return None
    front, back = (one, other) if line > other_line else (other, one)
    inner = inside[0 if back is one else 1]
    if any(_HOOK_OF_AN_END.search(frame.place) for frame in inner):
        return None  # it has left the loop as well
    ends = front.phase in _ENDS or _AFTER_THE_LOOP.fullmatch(front.op or "") is not None
    return front if ends and len(inner) > 1 else None


def left_alone(few: Sequence[StackState], many: Sequence[StackState]) -> bool:
    """Whether a few are past the loop, and all the others stand at one line of one step in it.

    Ranks that merely run ahead of their devices stand at many lines.
    """
    return (
        len(many) > max(len(few), 1)
        and past_the_loop(few[0], many[0]) is few[0]
        and len({s.path for s in many}) == 1
    )


_Way = Sequence[StackStep]


def parting(
    one: StackState, other: StackState
) -> tuple[str, int | None, int | None, tuple[_Way, _Way]]:
    """The innermost place that both are in, the line of each in it, and where each goes on."""
    way, other_way = _comparable(one.path, other.path)
    place, depth = "", 0
    found: tuple[int | None, int | None] = None, None
    for a, b in zip(way, other_way, strict=False):
        if a.place != b.place:
            break
        place, found, depth = a.place, (a.line, b.line), depth + 1
        if a.line != b.line:
            break
    return place, found[0], found[1], (way[depth:], other_way[depth:])


def _comparable(way: _Way, other: _Way) -> tuple[_Way, _Way]:
    """Two ways from the first place that both show: the outer part of one may be cut off."""
    for cut in range(max(len(way), len(other))):
        if cut < len(way) and other and way[cut].place == other[0].place:
            return way[cut:], other
        if cut < len(other) and way and other[cut].place == way[0].place:
            return way, other[cut:]
    return way, other
