"""Stacks show ranks that wait for each other in different collectives, and nobody at work.

## What it finds
Stacks of all ranks, each of them in a wait, but not in the same one: some in one collective, some
in another one or in the backward pass; or all of them wait for parameters (ZeRO-3), some for those
of another module than most. Or stacks of some ranks: those that the others gave up
waiting for wait in another collective than the others. Where those that wait further down have left
a function call that the others are still in, they are past the loop; unless the dumps show that
these had never issued a call from there before: then it is they who went astray.

## Why it hangs
Each of the two collectives lacks the ranks that wait in the other one. Either the code took
different branches on different ranks, or some ranks had fewer steps than the others.

## When it stays quiet
When any rank is at work elsewhere (LOC201 names it), when a rank left no stack (then only a hint),
for sends and receives of pipelines, for broadcasts and other collectives with a root, which rightly
runs ahead (unless variables of the stacks show that both sides need each other, or all others wait
for what one rank should have sent), and for ranks that are still connecting. On GPUs, where Python
runs ahead of the device, ranks in the step of the model that are busy give only a hint, unless they
all stand at one line of it and one rank is past their loop.

## How to confirm
Flight Recorder dumps, or `TORCH_DISTRIBUTED_DEBUG=DETAIL`: they compare the calls themselves.

## What to do
Let all ranks take the same branch, or move the collective out of it; give all ranks the same number
of steps.

## References
`torch.distributed.algorithms.join`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.ids import NO_RANKS, Rank
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.model.stack_states import Doing, StackState
from unhang.rules.desync.parted_stacks import (
    left_alone,
    may_be_apart,
    module_of,
    parted,
    parting,
    past_the_loop,
)
from unhang.rules.shared.stacks import contradicted, ranks, silent

_MAIN = Rank(0)
_BRANCHES = frozenset({Phase.SAVE, Phase.EVAL})
"""What programs let rank 0 do alone, in the midst of the training."""


@rule("DSY201", "ranks-wait-at-different-places", cause=Cause.DESYNC, needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding where the ranks stand in exactly two different waits."""
    sides = parted(incident)
    if sides is None:
        return
    few, many, awaited = sides
    if not awaited and may_be_apart(few, many):
        return
    if Doing.WAITS not in {few[0].doing, many[0].doing}:
        return
    still = all(_stands_still(s) for s in (*few, *many)) or left_alone(few, many)
    yield _finding(
        incident, few, many, sure=awaited or (not silent(incident) and still), awaited=awaited
    )


def _code(state: StackState) -> str | None:
    module = module_of(state)
    return state.code or state.frame if module is None else f"{module.place}:{module.line}"


def _stands_still(stance: StackState) -> bool:
    return stance.doing is Doing.WAITS or (stance.doing is Doing.STEPS and stance.idle is True)


def _is_new(incident: Incident, side: list[StackState]) -> bool:
    """Whether ranks wait in a call that their dumps show them to have issued nowhere else before.

    A loop that others have left calls from where it always did.
    """
    told = {} if incident.recorded is None else incident.recorded.recordings
    last = [told[rank].last if rank in told else None for rank in ranks(side)]
    return bool(last) and all(call is not None and call.is_new for call in last)


def _finding(
    incident: Incident,
    few: list[StackState],
    many: list[StackState],
    *,
    sure: bool,
    awaited: bool,
) -> Finding:
    ahead = past_the_loop(few[0], many[0])
    if ahead is few[0] and ranks(few) == {_MAIN} and ahead.phase in _BRANCHES:
        ahead = None  # a branch of its own is likelier than a loop that is shorter for it alone
    front, back = (few, many) if ahead is not many[0] else (many, few)
    tie = (len(few) == len(many) and not awaited) or not ranks(few)
    new = [side for side in (few, many) if _is_new(incident, side)] if tie else []
    if len(new) == 1:
        few, many = new[0], many if new[0] is few else few
        front, back, ahead, tie = few, many, None, False
    weak = not sure or contradicted(incident, NO_RANKS)
    claim = say(
        "DSY201.claim",
        "{ranks:ranks} {count:|waits|wait} in {op} ({code}), the others in"
        " {other_op} ({other_code})",
    )
    if ahead is not None and ranks(few):
        claim = say(
            "DSY201.claim_past",
            "{ranks:ranks} {count:|has|have} left the loop that {others:ranks} {rest:|is|are}"
            " still in, and {count:|waits|wait} in {op} ({code})",
        )
    elif tie:
        claim = say(
            "DSY201.claim_nobody", "ranks wait in {op} ({code}) and in {other_op} ({other_code})"
        )
    parts_at = parting(few[0], many[0])[0]
    return check.finding(
        Strength.HINTS if weak else Strength.SUPPORTS,
        cause=Cause.DESYNC if ahead is None else Cause.UNEVEN_WORK,
        claim=claim.using(
            ranks=ranks(front),
            others=ranks(back),
            count=len(front),
            rest=len(back),
            op=front[0].op or front[0].frame,
            code=_code(front[0]),
            other_op=back[0].op or back[0].frame,
            other_code=_code(back[0]),
        ),
        why=_why(few, many, parts_at, new=bool(new) and not tie),
        against=say("DSY201.against_groups", "The two may belong to different process groups."),
        culprits=ranks(few) if not tie else ranks(front) if ahead else NO_RANKS,
        phase=few[0].phase,
        call=incident.calls[0] if incident.calls else None,
        evidence=[few[0], many[0]],
    )


def _why(
    few: Sequence[StackState], many: Sequence[StackState], parts_at: str, *, new: bool
) -> Message:
    if new:
        return say(
            "DSY201.why_new",
            "All observed ranks wait for others and none is at work; no earlier call in the dump of"
            " {ranks:ranks} was issued from there.",
            ranks=ranks(few),
        )
    if not parts_at:
        return say("DSY201.why_apart", "All observed ranks wait for others and none is at work.")
    if not all(_stands_still(s) for s in (*few, *many)) and left_alone(few, many):
        return say(
            "DSY201.why_step",
            "The others all stand at one line of a step, which needs all ranks; from `{parts_at}`"
            " on they took different ways.",
            parts_at=parts_at,
        )
    return say(
        "DSY201.why",
        "All observed ranks wait for others and none is at work; from `{parts_at}` on they"
        " took different ways.",
        parts_at=parts_at,
    )
