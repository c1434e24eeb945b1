"""Time-stamped, bounded copies of the output."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from unhang.live.relay import copies
from unhang.live.relay.copies import Copies
from unhang.live.run_folder.clock import RunClock

STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00 ")

CLOCK = RunClock.begin()


def unstamped(path: Path) -> bytes:
    """The lines without their times; each has one."""
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", path.read_bytes())
    assert all(STAMP.match(line) for line in lines)
    return b"".join(line[len("2026-11-21T07:00:00.123456+00:00 ") :] for line in lines)


def test_each_line_gets_one_time_however_it_comes_in_pieces(tmp_path: Path) -> None:
    kept = Copies(tmp_path, CLOCK)
    for piece in (b"one\ntw", b"o", b"\n\nthree\r4", b"\n", b"end"):
        kept.add("stdout", piece)
    assert kept.close() == ()
    assert unstamped(tmp_path / "stdout.log") == b"one\ntwo\n\nthree\r4\nend"


def test_flush_waits_until_it_is_written(tmp_path: Path) -> None:
    kept = Copies(tmp_path, CLOCK)
    kept.add("stderr", b"gone wrong\n")
    kept.flush()
    assert unstamped(tmp_path / "stderr.log") == b"gone wrong\n"
    kept.close()


def test_a_chatty_job_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    kept = Copies(tmp_path, CLOCK, segment_bytes=2000)
    for number in range(400):
        kept.add("stdout", b"line %03d of a job that prints all day\n" % number)
        kept.flush()
    (lost,) = kept.close()
    assert lost.code == "copies_bounded"
    assert lost.values["size"] > 0
    assert unstamped(tmp_path / "stdout.1.log").startswith(b"line 000")
    end = unstamped(tmp_path / "stdout.2.log") + unstamped(tmp_path / "stdout.log")
    assert end.endswith(b"line 399 of a job that prints all day\n")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3 * 2200


def test_a_line_without_end_is_bounded_too(tmp_path: Path) -> None:
    kept = Copies(tmp_path, CLOCK, segment_bytes=1000)
    for _ in range(100):
        kept.add("stderr", b"\r 12%|### | of a bar that never ends its line")
        kept.flush()
    kept.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3 * 2200


def test_a_disk_that_fails_costs_the_copies_and_says_so(tmp_path: Path) -> None:
    kept = Copies(tmp_path / "gone", CLOCK)
    kept.add("stdout", b"twelve bytes")
    kept.flush()
    (lost,) = kept.close()
    assert (
        str(lost)
        == "12 B of stdout are not in the copies of the output (No such file or directory)"
    )


def test_a_disk_that_hangs_makes_nobody_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    class Hanging(copies._Segments):
        def write(self, data: bytes, at_s: float) -> None:
            over.wait(30)

    monkeypatch.setattr(copies, "_Segments", Hanging)
    kept = Copies(tmp_path, CLOCK)
    for _ in range(1000):
        kept.add("stdout", bytes(1000))
    lost = {loss.code for loss in kept.close(wait_s=0.2)}
    assert lost == {"copies_slow", "copies_unfinished"}
    over.set()
