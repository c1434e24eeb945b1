"""Opens what the job writes into, of the same kind as our own standard output and error.

A stream that is a terminal becomes a pseudo-terminal, any other a pipe. Where both are the same
file (`2>&1`, or one terminal) there is one stream, so that the order of what is printed stays.
Standard input is not touched: the job inherits it.

A pseudo-terminal here is only what `isatty` and colours ask for: the job stays in our session, so
that Ctrl-C, Ctrl-Z and passwords go to it by the terminal that it always had.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import stat
import struct
import termios
from dataclasses import dataclass

STDOUT, STDERR = 1, 2

_OUTPUT_FLAGS = 1
"""Index of `c_oflag` in what `tcgetattr` returns."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One way from the job to us.

    Attributes:
        name: `stdout` or `stderr`; `stdout` where both are one.
        source: what we read.
        sink: what we write, unchanged.
        terminal: both ends are terminals.
    """

    name: str
    source: int
    sink: int
    terminal: bool

    def fit(self) -> None:
        """Give the job's terminal the size of ours."""
        if not self.terminal:
            return
        with contextlib.suppress(OSError):  # our terminal has gone: the size stays
            size = fcntl.ioctl(self.sink, termios.TIOCGWINSZ, bytes(struct.calcsize("4H")))
            fcntl.ioctl(self.source, termios.TIOCSWINSZ, size)


@dataclass(frozen=True, slots=True)
class Streams:
    """All of them.

    Attributes:
        mine: what we read, one or two.
        stdout: descriptor that becomes the job's standard output.
        stderr: likewise its standard error.
    """

    mine: tuple[Stream, ...]
    stdout: int
    stderr: int

    def hand_over(self) -> None:
        """Close the job's ends here, once the job has them."""
        for descriptor in {self.stdout, self.stderr}:
            os.close(descriptor)


def fill_gaps() -> None:
    """Give us the standard streams that whoever started us has closed, leading nowhere.

    Without this the next file that is opened would take their numbers.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass  # it took the lowest free number, which was a gap
    os.close(descriptor)


def open_streams() -> Streams:
    """Open a stream for each of our own two.

    Raises:
        OSError: no descriptor or no pseudo-terminal is left.
    """
    out, out_end = _open("stdout", STDOUT)
    if _same(STDOUT, STDERR):
        return Streams((out,), out_end, out_end)
    error, error_end = _open("stderr", STDERR)
    return Streams((out, error), out_end, error_end)


def is_plain_file(descriptor: int) -> bool:
    """Whether writing to it never waits for a reader."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _open(name: str, sink: int) -> tuple[Stream, int]:
    if not os.isatty(sink):
        source, end = os.pipe()
        return Stream(name, source, sink, terminal=False), end
    source, end = pty.openpty()
    stream = Stream(name, source, sink, terminal=True)
    stream.fit()
    settings = termios.tcgetattr(sink)
    # Our own terminal turns line ends into what it needs; twice would show.
    settings[_OUTPUT_FLAGS] &= ~termios.OPOST
    termios.tcsetattr(end, termios.TCSANOW, settings)
    return stream, end


def _same(one: int, other: int) -> bool:
    return os.path.sameopenfile(one, other)
