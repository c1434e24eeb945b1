"""The smallest logs that once proved what is not so, or told the opposite of the truth."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.finding import Strength
from unhang.reporters import render

ALARM = "Watchdog caught collective operation timeout: "
RAISED = [
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 88, in main',
    "    loss = model(batch)",
    '  File "/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1553, in _call',
    "    return self._call_impl(*args, **kwargs)",
]


def gave_up(rank: int, op: str, seq: int = 7, numel: int = 1_048_576) -> str:
    return (
        f"[rank{rank}]:[E501 10:10:00.172185860 ProcessGroupNCCL.cpp:629] [Rank {rank}] {ALARM}"
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, "
        "Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    )


def fingerprint(seq: int, op: str) -> str:
    return (
        f"CollectiveFingerPrint(SequenceNumber={seq}, OpType={op}, TensorShape=[10], "
        "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu))"
    )


def differs(rank: int, runs: str, other: int, other_runs: str) -> str:
    return (
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. "
        f"Rank {rank} is running collective: {runs}, but Rank {other} is running collective: "
        f"{other_runs}.Collectives differ in the following aspects: \t Op type: ALLREDUCEvs X"
    )


def judged(folder: Path, *lines: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(folder / "job.log"))


@pytest.mark.parametrize("cut", range(3, 200, 7))
def test_a_cut_word_is_no_other_word(cut: int, tmp_path: Path) -> None:
    whole = gave_up(2, "_ALLGATHER_BASE")
    others = [gave_up(0, "_ALLGATHER_BASE"), gave_up(1, "_ALLGATHER_BASE")]
    assert judged(tmp_path, *others, whole[:-cut]).cause is None


@pytest.mark.parametrize(
    "echo",
    [
        "RuntimeError: EI0006: Getting socket times out. Reason: Remote Rank did not send the data",
        "RuntimeError: ACL stream synchronize failed, error code:107020",
        "RuntimeError: The remote worker has not answered within 300 s",
        "ValueError: rank 3 did not arrive at the exchange",
        "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 148 params, while "
        "rank 0 has inconsistent 0 params.",
    ],
)
def test_who_accuses_another_one_confesses_nothing(echo: str, tmp_path: Path) -> None:
    found = judged(tmp_path, *(f"[rank1]: {line}" for line in [*RAISED, echo]))
    assert found.cause is None
    assert 1 not in found.culprits


@pytest.mark.parametrize(
    "wait",
    [
        "waiting for baton release",
        "Waiting for lock file /root/.cache/x.lock",
        "Waiting for another process to compile the kernel",
    ],
)
def test_who_waits_for_a_lock_is_not_at_work(wait: str, tmp_path: Path) -> None:
    found = judged(tmp_path, f"[rank2]: {wait}", gave_up(0, "ALLREDUCE"), gave_up(1, "ALLREDUCE"))
    assert 2 not in found.culprits


def test_one_report_of_detail_mode_names_nobody(tmp_path: Path) -> None:
    reduces, sends = fingerprint(21, "ALLREDUCE"), fingerprint(21, "BROADCAST")
    found = judged(tmp_path, differs(2, reduces, 0, sends))
    assert found.cause is Cause.DESYNC
    assert not found.culprits


def test_of_different_numbers_the_rank_behind_is_odd(tmp_path: Path) -> None:
    found = judged(
        tmp_path, differs(1, fingerprint(22, "ALLREDUCE"), 0, fingerprint(21, "ALLREDUCE"))
    )
    assert found.culprits == {0}


@pytest.mark.parametrize(("size", "culprits"), [(3, {2}), (4, set())])
def test_a_vote_needs_the_voters(size: int, culprits: set[int], tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        f"initializing ddp: GLOBAL_RANK: 0, MEMBER: 1/{size}",
        *(gave_up(rank, "ALLREDUCE") for rank in (0, 1)),
        gave_up(2, "BROADCAST"),
    )
    assert found.cause is Cause.DESYNC
    assert found.culprits == culprits


@pytest.mark.parametrize("lost", [1, 3, 60, 400])
def test_lost_lines_are_not_lost_steps(lost: int, tmp_path: Path) -> None:
    for rank in range(4):
        steps = 500 - lost * (rank == 3)
        lines = [f"[rank{rank}]: step {n}/1000 loss 2.5" for n in range(1, steps + 1)]
        end = [] if rank == 3 else [gave_up(rank, "ALLREDUCE", seq=5000)]
        (tmp_path / f"rank{rank}.log").write_text("\n".join([*lines, *end]) + "\n")
    assert unhang.diagnose(str(tmp_path)).cause is None


def test_of_two_closed_connections_the_first_printed_one_is_not_guilty(tmp_path: Path) -> None:
    closed = "RuntimeError: [/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]"
    found = judged(tmp_path, f"[rank0]: {closed}", f"[rank1]: {closed}")
    assert found.cause is None
    assert not found.culprits


def test_everybody_raised_is_not_one_rank(tmp_path: Path) -> None:
    error = "ValueError: too many values to unpack (expected 2)"
    lines = [f"[rank{rank}]: {line}" for rank in range(4) for line in [*RAISED, error]]
    found = judged(tmp_path, *lines)
    assert (found.cause, found.culprits) == (Cause.RANK_EXCEPTION, frozenset())
    report = render(found, "terminal")
    assert "one rank" not in report
    assert "/home/u/train.py:88" in report


@pytest.mark.parametrize(
    "line",
    [
        "Segfault encountered",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "Unhandled exception in worker thread",
        "fi_cq_readerr: err: 113, prov_errno: 12, Host unreachable",
        "gpu07:4711:4790 [0] enqueue.cc:1 NCCL WARN Cuda failure 'operation not supported'",
        "    0         1         4         8        32        32   RUNNING  MISMATCH",
        "Stalled ranks:",
        "Retries exhausted, giving up",
    ],
)
def test_a_failure_that_is_not_understood_is_quoted(line: str, tmp_path: Path) -> None:
    found = judged(tmp_path, *(f"step {n} loss 2.5" for n in range(40)), line)
    assert found.summary.key != "summary.no_failure"
    if found.outcome is Outcome.UNDETERMINED:
        assert [source.line for source in found.unread] == [41]


def test_one_line_is_one_process(tmp_path: Path) -> None:
    found = judged(tmp_path, "RuntimeError: CUDA error: device-side assert triggered")
    assert "1 process" in render(found, "terminal")


def test_a_sub_group_is_not_the_job(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        "[rank3]: Timed out initializing process group in store based barrier on rank: 3, for key: "
        "store_based_barrier_key:2 (world_size=5, worker_count=4, timeout=0:30:00)",
    )
    assert found.coverage.world_size is None


def test_a_lone_process_n_is_the_job_s_own(tmp_path: Path) -> None:
    """In a container the driver counts processes as the host does."""
    found = judged(
        tmp_path,
        "[rank0]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        "GPU 0 has a total capacity of 79.15 GiB of which 1.12 GiB is free. Process 12345 has 77.9 "
        "GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch.",
    )
    assert (found.cause, found.strength) == (Cause.GPU_OOM, Strength.PROVES)
    assert "another process" not in render(found, "terminal")
