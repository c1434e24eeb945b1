"""The kernel's words on processes that it killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.live.agent import kernel_words
from unhang.parsers.kernel_log import COUNTED

LOG = """\
2026-11-21T07:00:01,000000+00:00 python invoked oom-killer: gfp_mask=0xcc0, order=0
2026-11-21T07:00:01,000001+00:00 [  18546]     0 18546   385381   188440 python
2026-11-21T07:00:01,000002+00:00 oom-kill:constraint=CONSTRAINT_MEMCG,task=python,pid=18546,uid=0
2026-11-21T07:00:01,000003+00:00 Memory cgroup out of memory: Killed process 18546 (python) x:1kB
2026-11-21T07:00:02,000000+00:00 python[18358]: segfault at 0 ip 00007f0847785ad8
2026-11-21T07:00:03,000000+00:00 Out of memory: Killed process 99 (somebody's) total-vm:1kB
"""


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that killed two processes, one of them not of the job."""
    monkeypatch.setattr(kernel_words, "_read", lambda: LOG)


def test_kills_of_the_job_alone_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "host" / "kernel.log"
    kernel_words.keep_kills({18546, 18358}, path)
    assert path.read_text(encoding="utf-8").splitlines() == LOG.splitlines()[2:4]


def test_no_file_where_the_kernel_killed_nobody(tmp_path: Path) -> None:
    kernel_words.keep_kills({4711}, tmp_path / "kernel.log")
    kernel_words.keep_kills(set(), tmp_path / "kernel.log")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("before", "told"), [(6, "1"), (7, "0")])
def test_how_many_were_killed_while_the_job_ran_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, told: str
) -> None:
    monkeypatch.setattr(kernel_words, "count_kills", lambda: 7)
    kernel_words.keep_kills({4711}, tmp_path / "kernel.log", before)
    assert (tmp_path / "kernel.log").read_text() == f"{COUNTED} {told}\n"


def test_a_kernel_that_does_not_count_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 12\noom_kill 3\n")
    assert kernel_words.count_kills(tmp_path / "vmstat") == 3
    (tmp_path / "vmstat").write_text("nr_free_pages 12\n")
    assert kernel_words.count_kills(tmp_path / "vmstat") is None
    assert kernel_words.count_kills(tmp_path / "none") is None
