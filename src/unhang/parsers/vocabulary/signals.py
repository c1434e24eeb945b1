"""From the names and numbers of signals and exit codes to one pair: signal, exit code."""

from __future__ import annotations

from unhang import lazy_re as re

_NUMBERS = {
    "HUP": 1,
    "INT": 2,
    "QUIT": 3,
    "ILL": 4,
    "TRAP": 5,
    "ABRT": 6,
    "BUS": 7,
    "FPE": 8,
    "KILL": 9,
    "USR1": 10,
    "SEGV": 11,
    "USR2": 12,
    "PIPE": 13,
    "ALRM": 14,
    "TERM": 15,
    "XCPU": 24,
}
"""Linux numbers; the same on x86-64 and aarch64."""

_WORDS = {
    "hangup": 1,
    "interrupt": 2,
    "quit": 3,
    "illegal instruction": 4,
    "trace/breakpoint trap": 5,
    "aborted": 6,
    "bus error": 7,
    "floating point exception": 8,
    "killed": 9,
    "user defined signal 1": 10,
    "segmentation fault": 11,
    "user defined signal 2": 12,
    "broken pipe": 13,
    "alarm clock": 14,
    "terminated": 15,
}
"""What `strsignal` and the shell call them."""

SIGNAL_WORDS = "|".join(sorted((re.escape(w.capitalize()) for w in _WORDS), key=len, reverse=True))
"""Alternatives for a regular expression: `Killed|Segmentation fault|…`."""


def signal_number(text: str) -> int | None:
    """The signal that a name, a word or a number means, or None.

    >>> signal_number("Signals.SIGTERM"), signal_number("Segmentation fault"), signal_number("9")
    (15, 11, 9)
    """
    name = text.strip().rsplit(".", 1)[-1].upper().removeprefix("SIG")
    if name.isdigit():
        return int(name) if 0 < int(name) < 65 else None
    return _NUMBERS.get(name, _WORDS.get(text.strip().lower()))


def split_exit(code: int) -> tuple[int | None, int | None]:
    """Signal and exit code of a status as launchers and shells print it.

    Negative codes and 128 + n mean signal n; containers report 137 for SIGKILL.

    >>> split_exit(-9), split_exit(137), split_exit(1), split_exit(255)
    ((9, None), (9, None), (None, 1), (None, 255))
    """
    if -65 < code < 0:
        return -code, None
    if code - 128 in _NUMBERS.values():
        return code - 128, None
    return None, code if code >= 0 else None
