"""All ranks wait for the lock of a build that none of them runs.

## What it finds
Stacks in which every rank waits for the lock with which PyTorch guards an extension's build
(`torch/utils/file_baton.py`), and none compiles.

## Why it hangs
`torch.utils.cpp_extension.load` makes a file `lock` in the build folder, and whoever finds it polls
until it is gone. A build that was killed leaves it behind: nobody will ever remove it, there is no
time limit, and no message is printed.

## When it stays quiet
While any process whose stack was taken compiles, and where not all ranks are there. Another job
that builds into the same folder looks the same from here, so it is never proved.

## How to confirm
`ls -l ~/.cache/torch_extensions/*/*/lock`: is it older than the job? Does `pgrep -a ninja` find a
build?

## What to do
Delete the lock when nobody builds, and start again. Give each job or node a build folder of its own
(`TORCH_EXTENSIONS_DIR`), and build once before the launch.

## References
PyTorch `torch/utils/file_baton.py`, `torch/utils/cpp_extension.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.finding import Collect
from unhang.model.phases import Phase
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, stacks

_WAIT = "file_baton.py:wait"


@rule(
    "SLO007",
    "build-lock-left-behind",
    cause=Cause.COMPILE_SLOW,
    needs={Fact.STACKS},
    explains=consequences.OF_WORK_THAT_LASTS,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding where all ranks wait for a lock and nobody builds."""
    waiting = [s for s in incident.stances if s.frame.endswith(_WAIT)]
    named = [s for s in incident.stances if s.rank is not None]
    builds = any(s.phase is Phase.COMPILE and s not in waiting for s in incident.stances)
    if not waiting or builds or any(s not in waiting for s in named) or stacks.silent(incident):
        return
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "SLO007.claim",
            "all ranks wait for the lock of a build that none of them runs",
        ),
        why=say(
            "SLO007.why",
            "A build that is killed leaves its file `lock` in the folder of PyTorch's extensions,"
            " and every rank that finds it waits until it is gone, that is, forever.",
        ),
        against=say(
            "SLO007.against", "another job that builds into the same folder would look the same"
        ),
        phase=Phase.COMPILE,
        evidence=tuple(s.source for s in waiting[:3]),
        collect=(
            Collect(
                what=say("SLO007.collect_what", "The age of the lock, and who builds"),
                how=say(
                    "SLO007.collect_how",
                    "ls -l ~/.cache/torch_extensions/*/*/lock; pgrep -a ninja",
                ),
                decides=say(
                    "SLO007.collect_decides",
                    "Whether the lock was left behind: then delete it and start again",
                ),
            ),
        ),
    )
