"""Prefixes of a host and a bare number: ranks, local ranks, or neither."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.provenance import NOBODY
from unhang.sources.counted_marks import find_counted_marks

_RANKS = [("oak", 0), ("oak", 1), ("elm", 2), ("elm", 3)]
_LOCAL = [("oak", 0), ("oak", 1), ("elm", 0), ("elm", 1)]
_FORMS = ["[{h}:{n}] ", "[{h}] {n} ", "{h}/{n}> ", "r{n}@{h} ", "<{h} {n}>: ", "[r{n} {h}] "]


def _lines(form: str, who: list[tuple[str, int]]) -> list[str]:
    return [f"{form.format(h=h, n=n)}loading shard {k}" for k in range(3) for h, n in who]


@pytest.mark.parametrize("form", _FORMS)
def test_numbers_that_are_given_once_are_ranks(form: str) -> None:
    marks = find_counted_marks(_lines(form, _RANKS))
    assert marks is not None
    told = marks.split(f"{form.format(h='elm', n=3)}  indented")
    assert told is not None
    assert told[2] == "  indented"
    origin = marks.speaker(told[0], NOBODY)
    assert (origin.rank, origin.host, origin.local_rank) == (3, "elm", None)


@pytest.mark.parametrize("form", _FORMS)
def test_numbers_that_each_host_has_are_local(form: str) -> None:
    marks = find_counted_marks(_lines(form, _LOCAL))
    assert marks is not None
    assert marks.speaker("elm:1", NOBODY).local_rank == 1
    assert marks.speaker("elm:1", NOBODY).rank is None


@pytest.mark.parametrize(
    "who",
    [
        [("loop.py", 31), ("loop.py", 52), ("data.py", 8)],
        [("step", 0), ("step", 1), ("step", 2)],
        [("sshd", 4711), ("cron", 4822)],
        [("oak", 0), ("oak", 1), ("elm", 1), ("elm", 2)],
    ],
    ids=["lines", "steps", "pids", "both"],
)
@pytest.mark.parametrize("form", _FORMS)
def test_other_numbers_are_none(form: str, who: list[tuple[str, int]]) -> None:
    assert find_counted_marks(_lines(form, who)) is None


def test_an_error_under_such_a_mark_is_of_that_rank(tmp_path: Path) -> None:
    lines = _lines("[{h}:{n}] ", _RANKS)
    lines += ["[elm:2] Traceback (most recent call last):", '[elm:2]   File "a.py", line 3, in f']
    lines += ["[elm:2] ModuleNotFoundError: No module named 'zarr'"]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    assert unhang.diagnose(str(tmp_path / "job.log")).culprits == {2}
