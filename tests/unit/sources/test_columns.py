"""The prefix that a collector put before each line, whatever its names are."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.provenance import NOBODY
from unhang.sources.columns import find_column

TIMEOUT = (
    "[rank{rank}]:[E417 21:11:58.300412001 ProcessGroupNCCL.cpp:688] [Rank {rank}] Watchdog caught"
    " collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=2621440,"
    " NumelOut=2621440, Timeout(ms)=600000) ran for 600041 milliseconds before timing out."
)
FULL = (
    "gpu3:101:201 [0] misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-a1 to"
    " 33030148 bytes, error: No space left on device (28)"
)
STEPS = [f"2026-04-17 21:0{n}:00,000 step {n}" for n in range(8)]


@pytest.mark.parametrize(
    "lead", ["ash: ", "ash   | ", "birch-0 pytorch ", "trainer-ash ", "rollout: ", "lab/ash: "]
)
def test_any_name_before_nearly_every_line_is_a_prefix(lead: str, tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("".join(f"{lead}{x}\n" for x in [*STEPS, FULL, *STEPS]))
    assert unhang.diagnose(str(tmp_path)).cause is Cause.SHM_SMALL


def test_what_is_printed_keeps_its_indentation() -> None:
    lines = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    f()"]
    column = find_column([f"ash0{n}: {line}" for n in range(4) for line in lines])
    assert column is not None
    assert column.split("ash01:     f()") == ("ash01", "ash01: ", "    f()")


@pytest.mark.parametrize("key", ["prompt: ", "chosen: ", "log_3: ", "ValueError: ", "INFO: "])
def test_keys_of_samples_and_levels_are_none(key: str) -> None:
    assert find_column([f"{key}{line}" for line in [*STEPS, FULL, *STEPS]]) is None


def test_a_name_before_some_lines_only_is_none(tmp_path: Path) -> None:
    lines = [*STEPS, f"ash: {FULL}", *STEPS]
    assert find_column(lines) is None
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    assert unhang.diagnose(str(tmp_path)).cause is None


def test_words_that_begin_sentences_are_none() -> None:
    assert find_column([f"then: it failed again, {n} times" for n in range(20)]) is None
    assert find_column([f"ash: {n}" for n in range(3)]) is None


def test_what_the_name_is_of() -> None:
    column = find_column([f"ash0{n % 2}: [rank0]: {n}" for n in range(8)])
    assert column is not None
    assert column.speaker("spark-b", NOBODY).host == "spark-b"
    assert column.speaker("rollout", NOBODY).actor == "rollout"


def test_evidence_shows_the_line_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("".join(f"ash: {x}\n" for x in [*STEPS, FULL]))
    (candidate, *_) = unhang.diagnose(str(tmp_path)).candidates
    assert candidate.evidence[0].text == f"ash: {FULL}"


def test_the_host_at_work_is_not_the_one_that_waits(tmp_path: Path) -> None:
    tune = "torch/_inductor/select_algorithm.py:2201] AUTOTUNE mm(64x12) takes 41.2 seconds"
    work = [f"ash-1: I0417 21:{m:02}:40.331000 8812 {tune}" for m in range(2, 11, 2)]
    lines = [
        *(f"elm-1: {line}" for line in STEPS[:1]),
        *work,
        f"elm-1: {TIMEOUT.format(rank=0)}",
        "ash-1: [rank1]:[W417 21:12:04.002911204 TCPStore.cpp:125] [c10d] recvValue failed on"
        " SocketImpl(fd=71, addr=[ash-1]:40122, remote=[elm-1]:29500): Connection reset by peer",
    ]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.cause is Cause.COMPILE_SLOW
    assert diagnosis.culprits == {1}
    here = [line.replace("ash-1: I0417", "elm-1: I0417") for line in lines]
    (tmp_path / "job.log").write_text("\n".join(here) + "\n")
    assert unhang.diagnose(str(tmp_path)).cause is None


def test_headers_without_a_date_are_heads_too() -> None:
    old = "[E ProcessGroupNCCL.cpp:475] [Rank 3] Watchdog caught collective operation timeout"
    clock = "[21:12:04.118203] Epoch: [0]  [2960/6104]  lr: 0.000004"
    lines = [f"ash: {old}", f"ash: {clock}", f"elm: {old}", f"elm: {clock}"] * 3
    column = find_column(lines)
    assert column is not None
    assert column.names == {"ash", "elm"}
