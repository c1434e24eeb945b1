"""A process crashed: segmentation fault, abort, bad instruction.

## What it finds
An exit by SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT, as reported by the launcher, the scheduler,
the shell, the kernel log or the process's own last words, where no watchdog ended the process on
purpose; or such an exit of a data loader's process, after which its rank raises.

## Why it hangs
A crashed rank prints no Python traceback and never issues the next collective; the others wait.

## When it stays quiet
An abort (-6) after a watchdog's time-out or a C++ error of Gloo or NCCL is a victim's end; so may
be one that names no reason, which Python's `Fatal Python error: Aborted` is not. A crash
after a stop, after an earlier failure or after the first time-out is only a hint: processes often
crash while they are torn down. SIGBUS is left to the rule on shared memory. When all ranks crash
at once no rank is named.

## How to confirm
`python -X faulthandler` prints the Python stack of the crash; `coredumpctl` or the core file the
native one; `dmesg` the address and the library of a segmentation fault.

## What to do
Look at the innermost library of the stack: an extension built for another torch or CUDA, a BLAS
without kernels for the GPU (SIGFPE), a data-loading library that does not survive `fork`.

## References
`signal(7)`; `faulthandler` in the Python documentation.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

from unhang.model.events import ProcessEnded, Reporter
from unhang.model.finding import Collect
from unhang.model.incident import Failure, Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.crash.sameness import failed_in_program, special_ranks
from unhang.rules.shared import consequences, order, rivals, speakers

_STACK = Collect.of("crash_stack")
_ABORTING = frozenset(
    {Manner.DEVICE, Manner.GPU_OOM, Manner.NCCL, Manner.WATCHDOG, Manner.PEER, Manner.HOST_OOM}
)
"""What is known to end in an abort: a C++ exception that nobody catches."""
_CRASHES = frozenset({signal.SIGSEGV, signal.SIGFPE, signal.SIGILL})
_ONLY_THE_SIGNAL = "Fatal Python error: Abort"
"""Python's fault handler repeats the signal, whoever raised it."""


@rule(
    "CRA003",
    "process-ended-by-a-crash-signal",
    cause=Cause.RANK_CRASH,
    needs={Fact.EXITS, Fact.KERNEL_LOG},
    explains=consequences.OF_A_LOST_RANK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first crash and all that went the same way."""
    crashed = [
        f
        for f in incident.failures
        if f.manner is Manner.CRASHED
        and f.signal is not None
        and (f.signal != signal.SIGBUS or failed_in_program(f))
    ]
    if not crashed:
        yield from _of_a_worker(incident)
        return
    first = crashed[0]
    same = [f for f in crashed if f.signal == first.signal]
    culprits = special_ranks(incident, same, len(same))
    number = "" if first.signal is None else _name(first.signal)
    yield check.finding(
        # Never more than support: the fault that crashes is often a library's or a version's.
        Strength.SUPPORTS,
        claim=say(
            "CRA003.claim", "{ranks:ranks} crashed with {signal}", ranks=culprits, signal=number
        )
        if culprits
        else say(
            "CRA003.claim_nobody",
            "processes crashed with {signal} ({count} seen)",
            signal=number,
            count=len(same),
        ),
        why=say(
            "CRA003.why",
            "A crash in native code leaves no Python traceback. The process never issues the"
            " next collective, and the others wait for it.",
        ),
        rival=_against(incident, first),
        culprits=culprits,
        at=first.at,
        evidence=same,
        collect=(_STACK,),
    )


def _of_a_worker(incident: Incident) -> Iterator[Finding]:
    """A data loader's process that crashed: its rank raises, and says no more than that."""
    crashed = [
        e
        for e in incident.all(ProcessEnded)
        if e.worker and e.signal in _CRASHES and not order.survived(incident, e)
    ]
    if crashed and crashed[0].signal is not None:
        yield check.finding(
            Strength.SUPPORTS,
            claim=say(
                "CRA003.claim_worker",
                "a data loader's process crashed with {signal}, and its rank with it",
                signal=_name(crashed[0].signal),
            ),
            why=say(
                "CRA003.why",
                "A crash in native code leaves no Python traceback. The process never issues the"
                " next collective, and the others wait for it.",
            ),
            rival=rivals.of_a_failure(incident, crashed[0]),
            culprits=speakers.ranks(incident, crashed),
            at=crashed[0].at,
            evidence=crashed,
            collect=(_STACK,),
        )


def _against(incident: Incident, first: Failure) -> Message | None:
    """What makes the crash a part of tearing down, or None."""
    echo = rivals.of_a_failure(incident, first)
    if echo is not None:
        return echo
    said = _last_words(first)
    ended_by_others = any(
        f.manner in _ABORTING and not (said and _is_victim_of(f, first)) for f in incident.failures
    )
    if first.signal == signal.SIGABRT and (ended_by_others or not said):
        return say("CRA003.against_abort", "processes also abort when their own watchdog ends them")
    return None


_SAME_WORDS = 3
"""Lines between `terminate called after throwing …` and the error that it carries."""


def _is_victim_of(failure: Failure, first: Failure) -> bool:
    """Whether a process lost the one that aborted, after that had said why it aborts."""
    if failure.manner not in (Manner.PEER, Manner.WATCHDOG) or not order.is_before(first, failure):
        return False
    gap = (failure.source.line or 0) - (first.source.line or 0)
    return failure.source.artifact != first.source.artifact or gap > _SAME_WORDS


def _last_words(failure: Failure) -> bool:
    """The process itself said why it aborts; a bare -6 may be the end of any victim."""
    return any(
        isinstance(e, ProcessEnded)
        and e.reporter is Reporter.SELF
        and _ONLY_THE_SIGNAL not in e.source.text
        for e in failure.events
    )


def _name(number: int) -> str:
    """The name of a signal; real-time signals between the first and the last have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
