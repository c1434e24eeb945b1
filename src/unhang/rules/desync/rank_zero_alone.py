"""A stack shows a collective inside a function that only rank 0 runs.

## What it finds
A process that waits for other ranks below the wrapper with which a library lets only rank 0 run a
function (`rank_zero_only`, `master_only`), while another process is elsewhere by its stack.
Forward passes of DistributedDataParallel count: they broadcast its buffers.

## Why it hangs
The other ranks skip the function, so they never issue that collective. They go on to the next one
of the loop, and each side waits for the other.

## When it stays quiet
When another process waits in the same call, or is at work elsewhere and may still come to it.

## How to confirm
`py-spy dump` of rank 0 and of one other rank: only that of rank 0 shows the wrapper.

## What to do
Call the collective outside the function, on all ranks, and let rank 0 alone do what follows; inside
it use the model without its wrapper (`model.module`).

## References
lightning-utilities 0.15, `core/rank_zero.py` (`rank_zero_only`); Lightning 1.6,
`utilities/rank_zero.py`; MMEngine 0.10, `dist/utils.py` (`master_only`); 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.ids import NO_RANKS, Rank
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.model.stack_states import Doing, StackState
from unhang.rules.shared.stacks import contradicted

_GUARD = re.compile(
    r"(?:.*/)?(?:(?:core|utilities)/(?:rank_zero|distributed)\.py:wrapped_fn"
    r"|(?:mmengine/dist/utils|runner/dist_utils)\.py:wrapper)"
)
_BUSY = frozenset({Doing.WORKS, Doing.STORAGE, Doing.LOCKED, Doing.COLLECTS})


@rule("DSY202", "rank-0-calls-alone", cause=Cause.DESYNC, needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the process below the wrapper."""
    guarded = [s for s in incident.stances if s.doing is Doing.WAITS and _is_guarded(s)]
    others = [s for s in incident.stances if s not in guarded]
    if len(guarded) != 1 or not others or guarded[0].rank not in (None, Rank(0)):
        return
    alone = guarded[0]
    if any(s.doing in _BUSY or (s.doing is Doing.WAITS and s.op == alone.op) for s in others):
        return
    yield check.finding(
        Strength.HINTS if contradicted(incident, NO_RANKS) else Strength.SUPPORTS,
        claim=say(
            "DSY202.claim",
            "rank 0 waits in {op} ({code}), inside a function that it alone runs",
            op=alone.op or alone.frame,
            code=alone.code or alone.frame,
        ),
        why=say(
            "DSY202.why",
            "The wrapper {wrapper} lets only rank 0 in; the other ranks never issue that call.",
            wrapper=next(step.place for step in alone.path if _GUARD.fullmatch(step.place)),
        ),
        culprits=frozenset({Rank(0)}),
        phase=alone.phase,
        call=incident.calls[0] if incident.calls else None,
        evidence=[alone, others[0]],
    )


def _is_guarded(state: StackState) -> bool:
    return any(_GUARD.fullmatch(step.place) for step in state.path)
