"""A job that goes on printing what it printed before did not end by what stands in between."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.diagnosis import Outcome

RAISED = (
    "Traceback (most recent call last):",
    '  File "/srv/app/routes.py", line 88, in answer',
    '    prompt = body["prompt"]',
    "KeyError: 'prompt'",
)


def clock(second: int) -> str:
    return f"2026-03-01 10:{second // 60:02}:{second % 60:02}"


def rate(second: int, who: str = "") -> str:
    """A line of work in which nothing rises."""
    value = second * 7919 % 977
    return f"{who}{clock(second)} INFO served {value} tokens/s, Running: {value % 7}, Waiting: 0"


def answer(second: int, code: int = 200) -> str:
    return f'INFO:     10.1.1.9:{30_000 + second * 31} - "POST /v1/ask HTTP/1.1" {code} OK'


def accused(folder: Path, *lines: str) -> bool:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(folder / "job.log")).outcome is Outcome.CAUSE


BEFORE = [rate(s) for s in range(0, 100, 10)]
LOGGED = (f"{clock(100)} ERROR a request failed", *RAISED)
AFTER = [rate(s) for s in range(110, 150, 10)]


def test_the_habit_goes_on(tmp_path: Path) -> None:
    assert not accused(tmp_path, *BEFORE, *LOGGED, *AFTER)
    assert not accused(tmp_path, *LOGGED, *(rate(s) for s in range(110, 250, 10)))
    assert accused(tmp_path, *BEFORE, *LOGGED)
    assert accused(tmp_path, *BEFORE, *LOGGED, *AFTER[:2]), "too short to tell"


def test_what_a_buffer_may_have_held_back(tmp_path: Path) -> None:
    """Without a time of its own a traceback may be later than all that is printed after it."""
    assert accused(tmp_path, *BEFORE, *RAISED, *AFTER)
    much = [rate(s).replace("INFO ", "") for s in range(110, 1800, 10)]
    assert not accused(tmp_path, *BEFORE, *RAISED, *much)
    assert accused(tmp_path, *BEFORE, *RAISED, *much[:60])


def test_the_same_numbers_again_are_no_work(tmp_path: Path) -> None:
    idle = [
        f"{clock(s)} INFO served 0 tokens/s, Running: 3, Waiting: 0" for s in range(110, 300, 9)
    ]
    assert accused(tmp_path, *BEFORE, *LOGGED, *idle)


@pytest.mark.parametrize(("code", "lived"), [(200, True), (500, False)])
def test_requests_that_are_answered(code: int, lived: bool, tmp_path: Path) -> None:
    answers = [answer(s, code) for s in range(50, 54)]
    told = ("ERROR:    Exception in the application", *RAISED)
    assert accused(tmp_path, *(answer(s) for s in range(9)), *told, *answers) is not lived
    asked = [a.replace("POST /v1/ask", "GET /status") for a in answers]
    assert accused(tmp_path, *told, *asked), "who asks for the status is answered without work"


def test_another_process_goes_on(tmp_path: Path) -> None:
    mine, other = "(Worker pid=7) ", "(Front pid=8) "
    log = [f"{mine}{line}" for line in LOGGED]
    before = [rate(s, who) for s in range(0, 100, 10) for who in (mine, other)]
    assert accused(tmp_path, *before, *log, *(rate(s, other) for s in range(110, 150, 10)))
    assert not accused(tmp_path, *before, *log, *(rate(s, mine) for s in range(110, 150, 10)))


def test_a_process_that_ended_is_not_healed(tmp_path: Path) -> None:
    ended = f"{clock(101)} torchrun: process 3 (rank 3) exited with exit code 1"
    assert accused(tmp_path, *BEFORE, *LOGGED, ended, *AFTER)
