"""Steps over sockets between hosts, and how fast they are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import unhang
from support.job_text import incident_of, timed_out
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis
from unhang.rules.network import slower_between_hosts

SOCKETS = (
    "n1:41:41 [0] NCCL INFO Using network Socket",
    "n1:41:88 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0",
)
Say = Callable[[int, float], str]
WORDS: tuple[Say, ...] = (
    lambda n, s: f"step {n} loss 2.1 step_time {s:.2f}s",
    lambda n, s: f" 4%|▍ | {n}/900 [00:10<04:00, {s:.2f}s/it]",
    lambda n, s: f"it {n} | Time: {s:.1f}s | loss 3.0",
    lambda n, s: f"step {n} loss 2.1 | {1000 / s:.1f} samples/s",
    lambda n, s: f"\t Train throughput/batches_per_sec: {1 / s:.4f}",
    lambda n, s: f"[{n}] iter_time: {s:.2f}, tokens_per_second: {50 / s:.3f}",
)


def steps(say: Say, seconds: float, count: int = 8) -> list[str]:
    return [say(n, seconds * (1 + n % 3 / 50)) for n in range(1, count + 1)]


def judged(
    at: Path, many: Iterable[str], one: Iterable[str], name: str = "one_node.txt"
) -> Diagnosis:
    (at / "cluster.log").write_text("\n".join((*SOCKETS, *many)) + "\n")
    (at / name).write_text("\n".join(one) + "\n")
    return unhang.diagnose(at)


@pytest.mark.parametrize("say", WORDS)
def test_the_same_measure_far_better_elsewhere(say: Say, tmp_path: Path) -> None:
    found = judged(tmp_path, steps(say, 24.0), steps(say, 3.0))
    assert found.cause is Cause.BANDWIDTH_LOW


@pytest.mark.parametrize("say", WORDS)
def test_as_fast_elsewhere_or_slower(say: Say, tmp_path: Path) -> None:
    for index, other in enumerate((14.0, 24.0, 90.0)):
        folder = tmp_path / str(index)
        folder.mkdir()
        assert judged(folder, steps(say, 24.0), steps(say, other)).cause is None


def test_other_measures_are_not_compared(tmp_path: Path) -> None:
    assert judged(tmp_path, steps(WORDS[0], 24.0), steps(WORDS[1], 3.0)).cause is None


def test_a_file_that_does_not_say_that_it_is_of_one_host(tmp_path: Path) -> None:
    found = judged(tmp_path, steps(WORDS[0], 24.0), steps(WORDS[0], 3.0), "worker-one.txt")
    assert found.cause is None


def test_bars_of_other_work_are_not_compared(tmp_path: Path) -> None:
    def scores(n: int, s: float) -> str:
        return f"Scoring: 4%|▍ | {n}/90 [00:10<04:00, {s:.2f}s/it]"

    assert judged(tmp_path, steps(WORDS[1], 24.0), steps(scores, 3.0)).cause is None


def test_gpus_that_hardly_compute() -> None:
    def rows(mfu: str) -> list[str]:
        return [f"Step {n} | Loss: 0.1 | MFU: {mfu}" for n in range(6)]

    (finding,) = slower_between_hosts.check(incident_of(*SOCKETS, *rows("0.21%")))
    assert finding.cause is Cause.BANDWIDTH_LOW
    assert not list(slower_between_hosts.check(incident_of(*SOCKETS, *rows("31.2%"))))
    assert not list(slower_between_hosts.check(incident_of(*rows("0.21%"))))


def test_ranks_that_wait_are_another_matter() -> None:
    slow = steps(WORDS[0], 24.0)
    found = incident_of(*SOCKETS, *slow, timed_out(1), other="\n".join(steps(WORDS[0], 2.0)))
    assert not list(slower_between_hosts.check(found))
