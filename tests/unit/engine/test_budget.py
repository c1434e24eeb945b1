"""What is spent ends the reading, never the verdict; how much was read is told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import unhang
from unhang.commands import invoke
from unhang.engine import budget as budgets
from unhang.engine.budget import Budget, BudgetSpent
from unhang.engine.gather import gather
from unhang.engine.shards import Engine
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.events import CollectiveTimeout
from unhang.sources.discover import discover

TIMEOUT = (
    "[E ProcessGroupNCCL.cpp:828] [Rank {}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800100 milliseconds "
    "before timing out.\n"
)


def spent(found: Diagnosis) -> str:
    (problem,) = (p for p in found.problems if p.component == "budget")
    return problem.message


def write(folder: Path, files: int) -> None:
    for n in range(files):
        (folder / f"rank{n}.log").write_text("".join(TIMEOUT.format(n) for _ in range(400)))


def test_time_that_is_over_reads_nothing_more(tmp_path: Path) -> None:
    write(tmp_path, 5)
    found = unhang.diagnose(str(tmp_path), limit_s=1e-9)
    assert found.outcome is Outcome.UNDETERMINED
    assert "the time limit was reached, so 0 % of the bytes" in spent(found)
    assert "5 files not to the end" in spent(found)


def test_what_was_read_before_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 4)
    ticks = iter(range(100))
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)))
    monkeypatch.setattr("unhang.engine.budget.time", clock)
    gathered = gather(
        discover([str(tmp_path)]), engine=Engine(), budget=Budget(memory=1 << 40, until=3.5)
    )
    told = [e for e in gathered.events if isinstance(e, CollectiveTimeout)]
    assert 400 <= len(told) < 4 * 400
    (problem,) = gathered.problems
    share = re.search(r"so (\d+) %", problem.message)
    assert share is not None
    assert 0 < int(share[1]) < 100


def test_memory_is_what_reading_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 2)
    held = iter([2 << 30, 2 << 30] + [5 << 30] * 100)
    monkeypatch.setattr(budgets, "_resident", lambda: next(held))
    found = unhang.diagnose(str(tmp_path), memory=1 << 30)
    assert "the events took the 1 GiB of memory" in spent(found)


def test_a_budget_that_is_not_spent_says_nothing() -> None:
    Budget.of(limit_s=1000.0).check()
    with pytest.raises(BudgetSpent):
        Budget.of(limit_s=-1.0).check()


def test_a_partial_reading_acquits_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1/2\nstep 2/2\nTraining completed.\n")
    (tmp_path / "b.log").write_text("x\n")
    assert unhang.diagnose(str(tmp_path), limit_s=1e-9).outcome is not Outcome.HEALTHY


def test_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, 1)
    assert invoke(["diagnose", str(tmp_path), "--limit", "60", "--memory", "500MB"]) == 0
    assert invoke(["diagnose", str(tmp_path), "--memory", "much"]) == 2
    assert "--memory" in capsys.readouterr().err


def test_what_reading_itself_takes_is_not_held_against_it(tmp_path: Path) -> None:
    """In a process that has loaded nothing yet, by itself and with workers."""
    write(tmp_path, 4)
    script = (
        "import sys, unhang; from unhang.engine import gather; gather.PARALLEL_FROM = 1\n"
        f"for memory in (16 << 20, 128 << 20): found = unhang.diagnose({str(tmp_path)!r},"
        " memory=memory, processes=2); assert not found.problems, found.problems"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_workers_share_what_all_of_them_may_use() -> None:
    assert [Budget(memory=size << 20).workers(32) for size in (1, 64, 128, 1024)] == [1, 1, 2, 16]
    assert Budget(memory=1 << 30).workers(2) == 2


def test_a_worker_counts_from_its_own_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [300 << 20]
    monkeypatch.setattr(budgets, "_resident", lambda: held[0])
    monkeypatch.setattr(budgets, "_before", None)
    monkeypatch.setattr(budgets, "_MADE_LATER", 0)
    theirs = Budget(memory=200 << 20, held=10 << 20).for_workers(2)
    with pytest.raises(BudgetSpent):
        theirs.check()
    budgets.begin_worker()
    held[0] += 19 << 20
    theirs.check()
    held[0] += 2 << 20
    with pytest.raises(BudgetSpent):
        theirs.check()
