"""A fault in one part is a problem of that part, and never the end of the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.growth import timed_out

import unhang
from unhang.assemble.identity import Identity
from unhang.model.diagnosis import Outcome
from unhang.model.events import Event
from unhang.parsers.progress import ProgressParser
from unhang.reporters import REPORTERS, render

LOG = "\n".join([timed_out(0, 7), timed_out(1, 7), "step 3/10 loss 2.5", "all done", ""])


NUMBER = "9" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        f"I1123 08:00:00.000000 {NUMBER} torch/distributed/run.py:792] it starts",
        f"[2026-11-23 08:00:00,000 I {NUMBER} 7] /srv/train.py:9: it starts",
        f"torch.distributed.elastic.SignalException: Process 1 got signal: {NUMBER}",
        f"-- Process {NUMBER} terminated with the following error:",
        f'Traceback (most recent call last):\n  File "/srv/train.py", line {NUMBER}, in main',
    ],
)
def test_a_number_without_end(line: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(f"{line}\n{LOG}")
    verdict = unhang.diagnose(str(tmp_path))
    assert verdict.problems == ()
    assert verdict.call is not None


def _fail(*_: object, **__: object) -> None:
    raise OverflowError("too large")


@pytest.fixture
def job(tmp_path: Path) -> str:
    (tmp_path / "job.log").write_text(LOG)
    return str(tmp_path)


def test_a_parser(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgressParser, "feed", _fail)
    verdict = unhang.diagnose(job)
    (problem,) = verdict.problems
    assert problem.artifact.endswith("job.log")
    assert problem.message.startswith("parser progress failed at line 1 (OverflowError: too large)")
    assert verdict.call is not None


@pytest.mark.parametrize(
    "part",
    [
        "split_incarnations",
        "drop_repeats",
        "share_origins",
        "find_world",
        "analyse_dumps",
        "date_timeouts",
        "find_roster",
        "find_stances",
        "find_coverage",
        "find_calls",
        "find_failures",
        "_analyses",
        "_gave_up_waiting",
        "find_open_phases",
        "find_standings",
        "_merged",
        "has_finished",
        "find_framework",
        "find_versions",
    ],
)
def test_an_assembler(part: str, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"unhang.assemble.{part}", _fail)
    verdict = unhang.diagnose(job)
    assert [problem.message for problem in verdict.problems if "OverflowError" in problem.message]
    assert verdict.outcome is not Outcome.HEALTHY


def test_who_is_who(job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_on_any(_: object, events: list[Event]) -> None:
        if events:
            _fail()

    monkeypatch.setattr(Identity, "_learn_devices", fail_on_any)
    verdict = unhang.diagnose(job)
    assert [problem.component for problem in verdict.problems] == ["identity"]
    assert verdict.call is not None


@pytest.mark.parametrize("part", ["suggest", "tell", "advise", "hear"])
def test_what_is_added_to_a_verdict(part: str, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = unhang.diagnose(job)
    monkeypatch.setattr(f"unhang.judging.{part}", _fail)
    verdict = unhang.diagnose(job)
    assert (verdict.outcome, verdict.cause) == (whole.outcome, whole.cause)
    assert len(verdict.problems) == 1


@pytest.mark.parametrize("form", sorted(REPORTERS.keys() - {"oneline"}))  # it has no story
def test_a_report(form: str, job: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = unhang.diagnose(job)
    broken = replace(verdict, story=(_Broken(),))  # type: ignore[arg-type]
    assert f"the {form} report failed" in render(broken, form, redact=False)


class _Broken:
    """No item of a story has so little."""


@pytest.mark.parametrize(
    "line",
    [
        f"step {'9' * 400}/{'9' * 401} loss 2.5",
        f"step {'9' * 5_000}/10 loss 2.5",
        f"NCCL version 2.{'1' * 5_000}.3+cuda12.4",
        f"PyTorch version: 2.{'7' * 5_000}.0",
        f"torch=={'2' * 5_000}.1",
        f"[rank0]: world_size={'8' * 5_000} local_rank=0",
        f"[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={'1' * 900}, "
        f"OpType=ALLREDUCE, NumelIn={'2' * 900}, NumelOut=1, Timeout(ms)={'3' * 900}) ran for "
        f"{'4' * 900} milliseconds before timing out.",
        f"Training:  12%|#   | 3/{'9' * 700} [{'8' * 500}:12<01:40,  8.8it/s]",
        f"E0602 15:42:11.000000 4242 torch/distributed/elastic/multiprocessing/api.py:874] failed "
        f"(exitcode: -{'9' * 600}) local_rank: {'1' * 600} (pid: {'5' * 5_000}) of binary: python3",
        f"[{'5' * 900}.980286] gpu-01 kernel: Out of memory: Killed process {'7' * 5_000} (py)",
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {'9' * 800}.00 GiB. GPU "
        f"{'1' * 500} has a total capacity of {'7' * 900}.1 GiB of which 1.00 MiB is free.",
    ],
)
def test_numbers_that_nothing_can_mean(line: str, tmp_path: Path) -> None:
    (tmp_path / "odd.log").write_text(f"{line}\n")
    (tmp_path / "job.log").write_text(LOG)
    verdict = unhang.diagnose(str(tmp_path))
    assert verdict.call is not None
    for form in REPORTERS:
        render(verdict, form)
