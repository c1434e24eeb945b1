"""What NVIDIA's Xid numbers mean for a job: which accuse the GPU and which the program.

Source: NVIDIA, "XID Errors" (docs.nvidia.com/deploy/xid-errors), and the driver's open kernel
modules. A number that is not listed decides nothing.
"""

from __future__ import annotations

from unhang.model.events import KernelEvent, KernelProblem

HARDWARE: dict[int, str] = {
    48: "double-bit ECC error",
    54: "auxiliary power is not connected",
    61: "internal micro-controller breakpoint",
    62: "internal micro-controller halt",
    64: "row remapping failed",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    92: "high rate of corrected ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    110: "security fault",
    119: "GSP does not answer",
    120: "GSP error",
    121: "C2C link error",
    122: "SPI controller fault",
    123: "power controller fault",
    136: "NVLink training failed",
    140: "unrecovered ECC error",
    143: "GPU initialisation failed",
    144: "NVLink error (SAW)",
    145: "NVLink error (RLW)",
    146: "NVLink error (TLW)",
    147: "NVLink error (TREX)",
    148: "NVLink error (control)",
    149: "NVLink error (NETIR)",
    150: "NVLink error (MSE)",
    155: "NVLink software error",
    156: "resource retirement",
    158: "GPU fatal timeout",
}
"""The GPU, its memory, its firmware or its links failed."""

PROGRAM: dict[int, str] = {
    13: "exception in a kernel",
    31: "memory page fault of a kernel",
    43: "GPU stopped processing a program",
    68: "exception in the video engine",
    69: "exception in the graphics engine",
}
"""A kernel of the program did what it must not; rarely a failing GPU looks the same."""

LINKS = frozenset({74, 121, 136, 137, 144, 145, 146, 147, 148, 149, 150, 155})
"""Errors of a link also appear when the process on its other side is killed."""


def number(event: KernelEvent) -> int | None:
    """The Xid that counts: behind a clean-up (45) the one that it names."""
    if event.problem is not KernelProblem.XID:
        return None
    return event.xid if event.previous_xid is None else event.previous_xid


def meaning(event: KernelEvent) -> str:
    """What a line of the kernel log reports, for a sentence."""
    code = number(event)
    if code is None:
        return f"{event.problem.value}: {event.detail}"[:160]
    known = HARDWARE.get(code) or PROGRAM.get(code)
    return f"Xid {code}" if known is None else f"Xid {code}, {known}"
