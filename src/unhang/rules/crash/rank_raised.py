"""A rank raised a Python exception of its own and exited, or every rank raised the same one.

## What it finds
A traceback that is the program's own failure: not the echo of another rank (collective, store and
connection errors, `ChildFailedError`), not out of memory, not a CUDA error, not a library of
another build, not an interrupt, not one that was merely logged. The earliest one counts.

## Why it hangs
A rank that raised never issues the next collective. The others wait in it until their watchdog
ends them, one timeout later; on the same node the launcher usually ends them first.

## When it stays quiet
When work visibly continued after the traceback. It is only a hint when a stop from outside, a crash
or an out-of-memory came before it, when the first collective had timed out before it, when the
rank itself had joined the stuck collective, or when the last line of the traceback is lost (it may
be any error) and no other rank lost its peer. When more than half of the ranks raise the same
exception no rank is guilty, and none is named.

## How to confirm
The exception's time is at or before (time of the first time-out - timeout). Run the failing input
on one process.

## What to do
Fix what the traceback says. Catch exceptions on all ranks together (all-reduce a flag) where one
rank may fail alone, so that the others need not wait.

## References
`torch.distributed.elastic.multiprocessing.errors.record` writes the traceback into the table.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from unhang import lazy_re as re
from unhang.model.events import Event, ExceptionKind, PythonException
from unhang.model.ids import Ranks
from unhang.model.incident import Failure, Manner
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Strength, rule, say
from unhang.rules.crash import doubts
from unhang.rules.crash.disk_full import unwritten
from unhang.rules.crash.sameness import count_nameless, special_ranks
from unhang.rules.shared import consequences, order

_OTHER_RULES = frozenset(
    {
        ExceptionKind.MISMATCH,
        ExceptionKind.WORKER,
        ExceptionKind.SHARED_MEMORY,
        ExceptionKind.LIBRARY,
    }
)


@rule(
    "CRA001",
    "rank-raised-an-exception",
    cause=Cause.RANK_EXCEPTION,
    needs={Fact.EXCEPTIONS},
    explains=consequences.OF_A_LOST_RANK,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the earliest exception, with all processes that raised the same."""
    raised = [
        (f, e)
        for f in incident.failures
        if f.manner is Manner.RAISED and (e := _exception(f)) is not None
        if not order.survived(incident, e)
    ]
    raised = _uncaught(incident, raised)
    if not raised:
        return
    first, exception = raised[0]
    alike = [(f, e) for f, e in raised if _alike(e, exception)]
    told = {e.origin for _, e in alike if not e.chained}
    same = [f for f, e in alike if not (e.chained and e.origin in told)]  # one process raised both
    count = max(len(same), count_nameless(first, exception))
    against = doubts.against(incident, first, exception)
    strength = Strength.HINTS if against is not None else Strength.PROVES
    if against is None:
        against = doubts.weakness(incident, exception)
        strength = Strength.PROVES if against is None else Strength.SUPPORTS
    culprits = special_ranks(incident, same, count)
    yield check.finding(
        strength,
        claim=_claim(exception, culprits, count),
        why=_why(exception),
        against=against,
        culprits=culprits,
        at=first.at,
        evidence=same,
    )


def _exception(failure: Failure) -> PythonException | None:
    """The exception that a failure is told by, if it is this rule's business."""
    event = failure.events[0]
    if not isinstance(event, PythonException) or event.kind in _OTHER_RULES:
        return None
    return None if unwritten(failure) is not None else event


def _uncaught(
    incident: Incident, raised: Sequence[tuple[Failure, PythonException]]
) -> list[tuple[Failure, PythonException]]:
    """Those at places where the program has not shown that it lives with the error."""
    caught = order.came_and_went(incident, _place)
    return [(f, e) for f, e in raised if _place(e) not in caught]


def _place(event: Event) -> Hashable:
    """Which error at which line or in what words; None for anything else, or where both are cut."""
    if not isinstance(event, PythonException) or not (event.frames or event.message):
        return None
    return event.exception, event.frames[-1] if event.frames else event.message


def _alike(one: PythonException, other: PythonException) -> bool:
    """The same error; a traceback whose last line is lost may be any."""
    return not one.exception or not other.exception or one.exception == other.exception


_INSTALLED = re.compile(r"(?:site|dist)-packages|[/\\\\]lib[/\\\\]python\d|^<|[/\\\\]torch[/\\\\]")
"""Files that the user did not write."""


def _why(exception: PythonException) -> Message:
    """Why it stops the others, and where in the program's own code it came from."""
    own = next((f for f in reversed(exception.frames) if not _INSTALLED.search(f.file)), None)
    if own is None or own.line is None:
        return say(
            "CRA001.why",
            "A process that raised never issues the next collective. The others wait in it"
            " until their watchdog or the launcher ends them.",
        )
    return say(
        "CRA001.why_at",
        "It came from {place} in {function}, the last line of the program's own code in the"
        " traceback. A process that raised never issues the next collective; the others wait in"
        " it until their watchdog or the launcher ends them.",
        place=f"{own.file}:{own.line}"[-160:],
        function=own.function[:80],
    )


def _claim(exception: PythonException, culprits: Ranks, count: int) -> Message:
    name = exception.exception or "an exception"
    text = f"{name}: {exception.message}" if exception.message else name
    if culprits:
        return say(
            "CRA001.claim",
            "{ranks:ranks} raised an exception and exited: {error}",
            ranks=culprits,
            error=text[:200],
        )
    if count > 1:
        return say(
            "CRA001.claim_all",
            "{count} processes raised the same exception: {error}",
            count=count,
            error=text[:200],
        )
    return say(
        "CRA001.claim_nobody", "a process raised an exception and exited: {error}", error=text[:200]
    )
