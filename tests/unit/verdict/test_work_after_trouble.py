"""Jobs that lived through trouble: training takes all ranks, so long training shows all alive."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.diagnosis import Diagnosis, Outcome

from .lived_through import STEPS, WORKS

OUT_OF_MEMORY = tuple(
    f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU"
    f" {rank} has a total capacity of 79.10 GiB of which 1.10 GiB is free."
    for rank in range(4)
)
UPLOAD_FAILED = (
    "Traceback (most recent call last):",
    '  File "/job/upload.py", line 12, in put',
    "    client.put(part)",
    "botocore.exceptions.ConnectTimeoutError: Connect timeout on endpoint URL",
)
DONE = "***** train metrics *****"


def losses(count: int) -> list[str]:
    return [f"{{'loss': {9 - n / 10:.4f}, 'learning_rate': 1e-05}}" for n in range(count)]


def judged(tmp_path: Path, *lines: str) -> Diagnosis:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(tmp_path))


@pytest.mark.parametrize("trouble", [OUT_OF_MEMORY, UPLOAD_FAILED], ids=["memory", "upload"])
def test_what_training_outlived_is_no_cause(tmp_path: Path, trouble: tuple[str, ...]) -> None:
    before = losses(4)
    assert judged(tmp_path, *before, *trouble, *losses(30), DONE).outcome is Outcome.HEALTHY
    assert judged(tmp_path, *before, *trouble).cause is not None
    assert judged(tmp_path, *before, *trouble, *losses(3)).cause is not None
    assert judged(tmp_path, *before, *losses(30), *trouble).cause is not None


def test_losses_without_an_end_do_not_speak_for_ranks_that_raised(tmp_path: Path) -> None:
    """Who prints them may be another rank, and its step may need nobody."""
    assert judged(tmp_path, *OUT_OF_MEMORY[:1], *losses(30)).cause is not None


def test_a_list_of_processes_is_no_work(tmp_path: Path) -> None:
    """Ray lists what filled the memory, row by row, with numbers that rise and fall."""
    rows = (f"{40_000 + 53 * n}\t{90 - n / 4:.2f}\tray::Learner.update_batch" for n in range(12))
    assert judged(tmp_path, *losses(4), *OUT_OF_MEMORY, *rows).cause is not None


def test_words_before_long_work_are_not_likely_a_cause(tmp_path: Path) -> None:
    words = "frobnicator: fatal failure, segment crashed and was abandoned!!"
    assert judged(tmp_path, *losses(2), words, *losses(30)).likely is None


def test_an_error_that_came_before_and_was_lived_with_is_no_cause(tmp_path: Path) -> None:
    caught = (OUT_OF_MEMORY[2], "[eval] done, exact_match 0.41")
    assert judged(tmp_path, *losses(4), *caught, *losses(30), *caught).cause is None
    assert judged(tmp_path, *losses(4), *caught, *losses(3), *caught).cause is not None


TAKEN = (
    "nohup: ignoring input",
    "[E socket.cpp:500] [c10d] The server socket has failed to listen on any local network"
    " address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in"
    " use).",
    "Traceback (most recent call last):",
    '  File "/job/bin/torchrun", line 8, in <module>',
    "    sys.exit(main())",
    "torch.distributed.DistNetworkError: The server socket has failed to bind to [::]:29500"
    " (errno: 98 - Address already in use).",
)


def test_a_first_attempt_that_never_began_is_past_when_the_second_ends_well(tmp_path: Path) -> None:
    again = ("nohup: ignoring input", *losses(30), "Training time 1:32:20")
    assert judged(tmp_path, *TAKEN, *again).outcome is Outcome.HEALTHY
    assert judged(tmp_path, *TAKEN).cause is not None
    assert judged(tmp_path, *losses(4), *TAKEN[1:], *again).cause is not None


def test_who_finds_the_store_gone_after_the_last_word_fails_nobody(tmp_path: Path) -> None:
    """Ranks leave one after the other; the one that keeps the store is not always the last."""
    warned = (
        "gpu1:31:41 [3] misc/ibvwrap.cc:121 NCCL WARN Call to ibv_query_port failed with error"
        " No such device"
    )
    gone = (
        "[rank5]:[W921 14:20:02.338110501 TCPStore.cpp:125] [c10d] recvValue failed on"
        " SocketImpl(fd=67, addr=[gpu12]:41005, remote=[gpu11]:29400): failed to recv, got 0 bytes"
    )
    counted = [f"step {n * 50}/1020 loss 1.{n}" for n in range(21)]
    whole = judged(tmp_path, warned, *counted, "done, 1020 steps, 0:46:12", gone)
    assert whole.outcome is Outcome.HEALTHY
    cut = judged(tmp_path, warned, *counted[:9], "done, 400 of 1020", gone)
    assert cut.outcome is Outcome.UNDETERMINED, "nor does a warning that nine steps followed"


def test_work_is_counted_wherever_the_log_lies(tmp_path: Path) -> None:
    """Lines are read once more to count it: a log in an object store can be opened again, too."""
    fsspec = pytest.importorskip("fsspec")
    work = [WORKS["own"](step) for step in range(STEPS)]
    text = "\n".join((*work[:30], *UPLOAD_FAILED, *work[30:])) + "\n"
    (tmp_path / "job.log").write_text(text)
    fsspec.filesystem("memory").pipe("/lived/job.log", text.encode())
    here, there = unhang.diagnose(str(tmp_path)), unhang.diagnose("memory://lived")
    assert here.cause is None
    assert (there.outcome, there.cause) == (here.outcome, here.cause)


BEGINS = (
    "W0301 10:10:00.112000 7001 torch/distributed/run.py:792]",
    "W0301 10:10:00.112000 7001 torch/distributed/run.py:792] " + 41 * "*",
    "W0301 10:10:00.112000 7001 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment"
    " variable for each process to be 1 in default, to avoid your system being overloaded",
    "W0301 10:10:00.112000 7001 torch/distributed/run.py:792] " + 41 * "*",
)


@pytest.mark.parametrize("banner", [(), BEGINS], ids=["no banner", "banner"])
@pytest.mark.parametrize("trouble", [OUT_OF_MEMORY[2:3], UPLOAD_FAILED], ids=["memory", "upload"])
def test_what_stands_between_two_runs_ends_neither(
    tmp_path: Path, trouble: tuple[str, ...], banner: tuple[str, ...]
) -> None:
    """A page that is shown, a test, the end of another job: nothing runs there that could fail."""
    first = (*losses(12), "Training completed.")
    assert judged(tmp_path, *first, *trouble, *banner, *losses(4)).cause is None
    assert judged(tmp_path, *first, *banner, *losses(4), *trouble).cause is not None
    assert judged(tmp_path, *losses(12), *trouble, *BEGINS, *losses(4)).cause is not None


def test_work_goes_on_around_what_is_shown(tmp_path: Path) -> None:
    """A few late lines may come from a buffer, but not where none of the work stands above."""
    assert judged(tmp_path, *losses(9), OUT_OF_MEMORY[0], *losses(6)).cause is None
    assert judged(tmp_path, OUT_OF_MEMORY[0], *losses(6)).cause is not None
    assert judged(tmp_path, *losses(9), OUT_OF_MEMORY[0], *losses(4)).cause is not None
