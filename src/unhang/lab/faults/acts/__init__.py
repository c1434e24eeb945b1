"""Faults that happen at one place of the program: `ACTS` names them all."""

from __future__ import annotations

from collections.abc import Callable

from ..declared import Fault
from . import deaths, link, memory, stalls, storage, traffic

ACTS: dict[str, Callable[[Fault], None]] = {
    "sleep": stalls.sleep,
    "spin": stalls.spin,
    "work": stalls.work,
    "hold_gil": stalls.hold_gil,
    "native_hang": stalls.hang_natively,
    "lock": stalls.wait_for_lock,
    "child": stalls.wait_for_child,
    "pipe": stalls.open_pipe,
    "stop": stalls.stop,
    "raise": deaths.raise_exception,
    "exit": deaths.leave,
    "kill": deaths.kill,
    "corrupt_memory": deaths.corrupt_memory,
    "segfault": deaths.segfault,
    "host_oom": memory.exhaust,
    "memory_limit": memory.limit,
    "fill_disk": storage.fill,
    "link": link.change,
    "extra_call": traffic.issue_one_more,
    "mark": lambda _fault: None,
}
"""By kind. `mark` does nothing: the second of a fault that was made elsewhere is written down."""

AT_ONCE = ("stop", "kill", "link")
"""Kinds that need no place in the program: after `seconds` they happen on the second."""
