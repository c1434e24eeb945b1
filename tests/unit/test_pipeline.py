"""The pipeline end to end on two lines."""

from pathlib import Path

import unhang


def test_two_operations_at_one_sequence_number(tmp_path: Path) -> None:
    line = (
        "[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=7, OpType={op}, Timeout(ms)=1800000) ran for 1800100 milliseconds "
        "before timing out.\n"
    )
    log = tmp_path / "job.log"
    log.write_text(line.format(rank=0, op="ALLGATHER") + line.format(rank=1, op="BROADCAST"))
    diagnosis = unhang.diagnose(str(log))
    assert diagnosis.cause is not None
    assert diagnosis.cause.value == "desync"


_START = "Setting OMP_NUM_THREADS environment variable for each process to be 1\n"
_STOPPED = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-01T10:14:00 DUE TO {} ***\n"
_RAISED = (
    'Traceback (most recent call last):\n  File "fit.py", line 9, in <module>\n    fit()\n'
    "KeyError: 'width'\n"
)


def _judge(folder: Path, text: str) -> unhang.Diagnosis:
    log = folder / "job.log"
    log.write_text(text)
    return unhang.diagnose(str(log))


def test_a_stopped_run_that_another_one_carried_on_is_healthy(tmp_path: Path) -> None:
    first = _START + "".join(f"step {n}/1000 loss 0.5\n" for n in range(0, 500, 50))
    text = first + _STOPPED.format("PREEMPTION") + _START + "Training done.\n"
    diagnosis = _judge(tmp_path, text)
    assert diagnosis.outcome.value == "healthy"
    assert [v.cause.value for v in diagnosis.earlier if v.cause is not None] == ["external_stop"]


def test_a_good_run_does_not_heal_a_separate_failed_one(tmp_path: Path) -> None:
    diagnosis = _judge(tmp_path, _START + _RAISED + _START + "Training done.\n")
    assert diagnosis.cause is not None
    assert diagnosis.cause.value == "rank_exception"
    assert [v.outcome.value for v in diagnosis.earlier] == ["healthy"]


def test_a_whole_run_after_a_failed_attempt_that_nobody_announces(tmp_path: Path) -> None:
    """A step counter that begins anew is all that tells of the second start."""

    def steps(first: int, last: int) -> str:
        return "".join(f"step {n}/60 loss {4 - n / 60:.3f}\n" for n in range(first, last))

    failed = (
        "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        "E1120 10:05:03.111000 900 torch/distributed/elastic/multiprocessing/api.py:869] failed "
        "(exitcode: 1) local_rank: 0 (pid: 1200) of binary: /usr/bin/python3\n"
    )
    second = steps(1, 60)
    assert _judge(tmp_path, steps(1, 5) + failed + second).outcome.value == "undetermined"
    whole = _judge(tmp_path, steps(1, 5) + failed + second + "Training complete.\n")
    assert whole.outcome.value == "healthy"
    assert _judge(tmp_path, steps(1, 5) + failed + steps(1, 5)).cause is not None
    assert _judge(tmp_path, steps(1, 5) + failed + second + failed).cause is not None


def test_a_terminal_with_two_runs_tells_of_the_last(tmp_path: Path) -> None:
    prompt = "(env) ann@node7:~/fit# bash run.sh\n"
    stopped = _RAISED.replace("KeyError: 'width'", "KeyboardInterrupt")
    diagnosis = _judge(tmp_path, prompt + stopped + prompt + _RAISED)
    assert diagnosis.cause is not None
    assert diagnosis.cause.value == "rank_exception"


def test_an_error_that_the_job_outlived_does_not_hide_its_good_end(tmp_path: Path) -> None:
    steps = "".join(f"Epoch [1][{n}/500] loss 1.2\n" for n in range(0, 500, 50))
    diagnosis = _judge(tmp_path, steps + _RAISED + steps.replace("[1]", "[2]") + "Training done.\n")
    assert diagnosis.outcome.value == "healthy"
    assert _judge(tmp_path, steps + "Training done.\n" + _RAISED).outcome.value != "healthy"
