"""Code was still being compiled or warmed up on some rank while the other ranks waited.

## What it finds
A live stack inside a compiler (Triton, Inductor, FlashInfer's or PyTorch's extension builder, a
build lock), or a compilation, autotuning or graph capture that has begun and not ended when the
first rank gave up waiting.

## Why it hangs
Kernels are built when they are first needed, on each rank by itself. A rank whose cache is cold, or
that waits for the lock of another process's build, reaches the next collective minutes after the
others. NCCL prints nothing: the signature is a stack, and GPUs at 0 % (a wait in NCCL shows 100 %).

## When it stays quiet
When the compilation ended or training went on. It is only a hint when a process failed by itself,
when ranks issued different calls, or when the compiling rank waits in the collective itself.

## How to confirm
Take the stacks of all ranks (`py-spy dump --pid`), twice: the compiler's frames are on top on some
ranks. Look for a stale `lock` file in the build folder (`TORCH_EXTENSIONS_DIR`,
`TRITON_CACHE_DIR`).

## What to do
Build before the launch, or on one rank first; keep the caches on a disk that survives the job and
is local to the node; delete stale locks; raise the timeout for the first steps.

## References
`torch.utils.cpp_extension.load`; `torch/utils/file_baton.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import StackSeen
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, order
from unhang.rules.slow.work_findings import WorkRule, tell


@rule("SLO004", "compilation-under-way", cause=Cause.COMPILE_SLOW, needs={Fact.PHASES, Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield a finding when a compilation outlasts the wait."""
    about = WorkRule(
        rule=check,
        phases=frozenset({Phase.COMPILE}),
        claim_ranks=say(
            "SLO004.claim_ranks",
            "{ranks:ranks}: code is still being compiled or warmed up (`{detail}`)"
            " while the others wait",
        ),
        claim=say(
            "SLO004.claim",
            "code is still being compiled or warmed up (`{detail}`) while the others wait",
        ),
    )
    yield from tell(incident, about)
    yield from _builds_for_others(incident, about)


_LOCK = "file_baton.py:wait"


def _builds_for_others(incident: Incident, about: WorkRule) -> Iterator[Finding]:
    """Yield a finding where one rank builds an extension and all others wait for its lock."""
    stood = [s for s in incident.stances if s.rank is not None]
    waiting = [s for s in stood if s.frame.endswith(_LOCK)]
    builds = [
        e
        for e in incident.all(StackSeen)
        if e.phase is Phase.COMPILE and not e.frame.endswith(_LOCK) and e.origin.rank is not None
    ]
    builders = frozenset(e.origin.rank for e in builds if e.origin.rank is not None)
    waiters = frozenset(s.rank for s in waiting if s.rank is not None)
    others = frozenset(s.rank for s in stood if s.rank is not None) - builders
    if len(builders) != 1 or not waiters or others != waiters or waiters & builders:
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=about.claim_ranks.using(ranks=builders, detail=builds[0].frame),
        why=say(
            "SLO004.why_lock",
            "{waiters:ranks} {waiting:|waits|wait} for the lock of the build that"
            " {ranks:ranks} runs.",
            waiters=waiters,
            waiting=len(waiters),
            ranks=builders,
        ),
        rival=say("SLO.against_failure", "Something else failed, perhaps earlier.")
        if any(f.manner in order.DECISIVE for f in incident.failures)
        else None,
        culprits=builders,
        phase=Phase.COMPILE,
        explains=consequences.OF_WORK_THAT_LASTS,
        evidence=(builds[0], waiting[0]),
    )
