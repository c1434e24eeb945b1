"""Lines that look like a failure and that nothing understood are quoted, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from support.feeding import line
from unhang.parsers.unread_lines import weigh

STEPS = "\n".join(f"step {n}/400 loss {4 / n:.3f}" for n in range(1, 30))


@pytest.mark.parametrize(
    "text",
    [
        "Segfault encountered in worker thread",
        "worker 3 lost its scheduler, giving up after 5 attempts",
        "child 7 exited with status 3",
        "RAS reports MISMATCH for communicator 4",
        "Unhandled error in the data service",
        "ERROR: shard 17 is gone",
        "Watchdog timeout (self.watchdog_last_time=1, self.watchdog_timeout=300)",
        "Received sigquit from a child process",
        "# Out of bounds values : 16 FAILED",
        "gpu07:1:2 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB: Got completion with status=5",
    ],
)
def test_a_program_that_gives_up_looks_like_a_failure(text: str) -> None:
    assert weigh(line(text)) >= 2


@pytest.mark.parametrize(
    "text",
    [
        "validation: 0 errors",
        "error_file: <N/A>",
        "timeout=1800 retries=3",
        "mean_abs_error: 0.31",
        "this may fail on older drivers",
        "FutureWarning: the argument is deprecated and will raise an error",
        "word error rate 4.1",
    ],
)
def test_what_denies_a_failure_is_none(text: str) -> None:
    assert weigh(line(text)) == 0


def _judged(tmp_path: Path, text: str) -> unhang.Diagnosis:
    (tmp_path / "job.log").write_text(text)
    return unhang.diagnose(str(tmp_path / "job.log"))


def test_the_most_suspicious_lines_are_quoted(tmp_path: Path) -> None:
    odd = [f"E0501 10:00:0{n}.123456 4711 engine.cc:8{n}] Fatal: lane {n} " for n in range(7)]
    words = ("gave", "lost", "cut", "closed", "left", "ended", "went")
    text = "\n".join([STEPS, *(o + w for o, w in zip(odd, words, strict=True))])
    found = _judged(tmp_path, text)
    assert found.outcome.value == "undetermined"
    assert found.summary.key == "summary.not_understood"
    assert len(found.unread) == 5
    assert all("Fatal" in source.text for source in found.unread)


def test_whoever_is_dead_is_asked_for_no_stack(tmp_path: Path) -> None:
    found = _judged(tmp_path, STEPS + "\nSegfault encountered in worker thread\n")
    asked = [collect.what.key for collect in found.collect_next]
    assert "collect.launcher_exits.what" in asked
    assert "collect.stacks.what" not in asked


def test_a_quiet_log_quotes_nothing(tmp_path: Path) -> None:
    found = _judged(tmp_path, STEPS)
    assert found.unread == ()
    assert found.summary.key == "summary.no_failure"


def test_a_known_failure_is_not_called_unread(tmp_path: Path) -> None:
    text = STEPS + (
        "\n[rank2]: Traceback (most recent call last):\n"
        '[rank2]:   File "train.py", line 9, in <module>\n'
        "[rank2]:     main()\n"
        "[rank2]: ValueError: too many values to unpack (expected 2)\n"
    )
    assert _judged(tmp_path, text).unread == ()


def test_what_was_read_and_explains_nothing_is_quoted_too(tmp_path: Path) -> None:
    text = "#1-0 (93d7ea8812345678) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    found = _judged(tmp_path, f"{STEPS}\n{text}")
    assert found.summary.key == "LOC206.claim_nobody"
    assert "INCOMPLETE" in found.unread[0].text


@pytest.mark.parametrize(("name", "quoted"), [("proc.txt", False), ("output.log", True)])
def test_a_listing_of_a_bundle_holds_no_messages(tmp_path: Path, name: str, quoted: bool) -> None:
    at = tmp_path / "host=gpu-07" / "rank_0"
    at.mkdir(parents=True)
    (at / name).write_text("Name:\ttimeout\nMax realtime timeout unlimited\nscheduler died\n")
    unread = unhang.diagnose(str(tmp_path)).unread
    assert any("scheduler died" in p.text for p in unread) is quoted
