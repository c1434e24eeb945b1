"""A thread keeps Python's interpreter lock in native code while other threads want it.

## What it finds
In native stacks of one process: a thread that waits for the interpreter lock (`take_gil`), and
another one that is in CUDA, NCCL or a join of threads below Python code, or that the dump calls
the holder of the lock.

## Why it hangs
Python runs one thread at a time. A native call that keeps the lock and waits for something that
needs it (a callback, the watchdog, another thread of the program) never returns.

## When it stays quiet
Where no thread wants the lock: a native call that keeps it for a long time is slow, not stuck.

## How to confirm
`gdb -p PID -batch -ex 'thread apply all bt'` twice: the same threads stand at the same calls.

## What to do
Release the lock around the native call (`Py_BEGIN_ALLOW_THREADS`,
`py::call_guard<py::gil_scoped_release>`); update the library whose call it is.

## References
CPython, "Thread State and the Global Interpreter Lock".
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared.stacks import ranks


@rule("LOC203", "interpreter-lock-kept-in-native-code", needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all processes whose lock is kept."""
    found = [s for s in incident.stances if s.gil_taken_by is not None]
    culprits = ranks(found)
    if not culprits:
        return
    everybody = len(found) == len(incident.stances) > 1
    yield check.finding(
        Strength.HINTS if everybody else Strength.SUPPORTS,
        claim=say(
            "LOC203.claim",
            "{ranks:ranks}: a thread keeps Python's interpreter lock in native code ({thread})"
            " while others want it.",
            ranks=culprits,
            thread=found[0].gil_taken_by,
        ),
        why=say(
            "LOC203.why",
            "Nothing else in that process, not even its watchdog, can run until the native call "
            "returns.",
        ),
        culprits=culprits,
        evidence=found,
    )
