"""Progress is shown to people who wait, and leaves nothing behind."""

import io
import time

import pytest

from unhang.commands.progress import ReadingProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be set by the test."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_quick_work_shows_nothing(clock: list[float]) -> None:
    stream = Terminal()
    with ReadingProgress(stream) as progress:
        clock[0] += 0.9
        progress(1 << 30, 2 << 30)
    assert stream.getvalue() == ""


def test_long_work_rewrites_one_line_and_clears_it(clock: list[float]) -> None:
    stream = Terminal()
    with ReadingProgress(stream) as progress:
        for second in range(1, 4):
            clock[0] += 1
            progress(second << 30, 4 << 30)
            progress(second << 30, 4 << 30)
    shown = stream.getvalue().split("\r\x1b[K")[1:]
    assert shown == [
        "reading  25% of 4.0 GiB",
        "reading  50% of 4.0 GiB",
        "reading  75% of 4.0 GiB",
        "",
    ]


def test_a_file_or_a_pipe_gets_nothing(clock: list[float]) -> None:
    stream = io.StringIO()
    with ReadingProgress(stream) as progress:
        clock[0] += 10
        progress(1, 2)
    assert stream.getvalue() == ""


def test_a_size_that_is_not_known_is_not_told(clock: list[float]) -> None:
    stream = Terminal()
    with ReadingProgress(stream) as progress:
        clock[0] += 10
        progress(0, 0)
    assert "%" not in stream.getvalue()
