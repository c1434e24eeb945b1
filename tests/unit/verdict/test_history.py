"""What a job outlived is history: it goes on, begins anew, or ends well after its fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from unhang.api import diagnose
from unhang.model.diagnosis import Outcome

NO_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total "
    "capacity of 79.15 GiB of which 1.12 GiB is free."
)
RAISED = "ValueError: the table has 12 columns, not 11"
XID = "[ 8123.001] NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus."
COMPLETION = (
    "gpu07:4711:4790 [2] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
    "10.0.0.7<43210> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
)
RESTART = (
    "W0501 10:02:00.000000 4100 torch/distributed/elastic/agent/server/api.py:900] [default] "
    "Worker group FAILED. 2/3 attempts left; will restart worker group"
)
DONE = "Training complete"


def steps(begin: int, end: int, rank: int | None = None, *, dated: bool = False) -> list[str]:
    """Lines of work."""
    speaker = "" if rank is None else f"[rank{rank}]: "
    return [
        (f"2026-05-01 10:{n // 60:02}:{n % 60:02},000 INFO " if dated else "")
        + f"{speaker}step {n}/900 loss 1.{n:03}"
        for n in range(begin, end)
    ]


def raised(error: str, rank: int | None = None) -> list[str]:
    """An exception, as the interpreter prints it."""
    speaker = "" if rank is None else f"[rank{rank}]: "
    return [
        f"{speaker}Traceback (most recent call last):",
        f'{speaker}  File "/home/me/train.py", line 61, in main',
        f"{speaker}    loss = model(x)",
        f"{speaker}{error}",
    ]


def all_ranks(begin: int, end: int, ranks: tuple[int, ...] = (0, 1, 2, 3)) -> list[str]:
    """The same work of several ranks."""
    return [line for rank in ranks for line in steps(begin, end, rank)]


def convicts(folder: Path, **files: list[str]) -> bool:
    """Whether somebody or something is held responsible."""
    for name, lines in files.items():
        (folder / name.replace("_", ".")).write_text("\n".join(lines) + "\n")
    return diagnose(str(folder)).outcome in (Outcome.CAUSE, Outcome.LOCATED)


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("error", [NO_MEMORY, RAISED])
class TestExceptions:
    """One that ends the process convicts; one that somebody caught does not."""

    def test_at_the_end(self, error: str, dated: bool, tmp_path: Path) -> None:
        assert convicts(tmp_path, a_log=steps(0, 60, dated=dated) + raised(error))

    def test_caught_and_logged(self, error: str, dated: bool, tmp_path: Path) -> None:
        before, after = steps(0, 60, dated=dated), steps(60, 120, dated=dated)
        caught = [f"WARNING caught: {error}", "WARNING halving the batch to 8"]
        assert not convicts(tmp_path, a_log=before + caught + after)

    @pytest.mark.parametrize("end", [[], [DONE]])
    def test_caught_and_shown(
        self, error: str, dated: bool, end: list[str], tmp_path: Path
    ) -> None:
        before, after = steps(0, 60, dated=dated), steps(60, 120, dated=dated)
        assert not convicts(tmp_path, a_log=before + raised(error) + after + end)

    @pytest.mark.parametrize("end", [[], [DONE]])
    def test_restarted(self, error: str, dated: bool, end: list[str], tmp_path: Path) -> None:
        before, after = steps(0, 60, dated=dated), steps(0, 120, dated=dated)
        assert not convicts(tmp_path, a_log=before + raised(error) + [RESTART] + after + end)

    def test_behind_the_end(self, error: str, dated: bool, tmp_path: Path) -> None:
        ignored = ["Exception ignored in: <function D.__del__ at 0x7f>", *raised(error)]
        assert not convicts(tmp_path, a_log=[*steps(0, 60, dated=dated), DONE, *ignored])


@pytest.mark.parametrize("error", [NO_MEMORY, RAISED])
def test_only_the_same_rank_can_outlive_it(error: str, tmp_path: Path) -> None:
    ended = all_ranks(0, 20) + raised(error, 2)
    assert not convicts(tmp_path, a_log=ended + all_ranks(20, 60))
    assert convicts(tmp_path, a_log=ended + all_ranks(20, 22, (0, 1, 3)))


@pytest.mark.parametrize("fault", [XID, COMPLETION])
def test_a_fault_that_work_outlived(fault: str, tmp_path: Path) -> None:
    assert not convicts(tmp_path, a_log=[*steps(0, 60), fault, *steps(60, 160)])
    assert not convicts(tmp_path, a_log=[*steps(0, 60), fault, *steps(60, 160), DONE])
    assert convicts(tmp_path, a_log=[*steps(0, 60), fault])
    assert convicts(tmp_path, a_log=[*steps(0, 60), fault, *steps(60, 63)])


def test_retries_that_succeed(tmp_path: Path) -> None:
    refused = "gpu07:4711:4790 [2] NCCL INFO Call to connect returned Connection refused, retrying"
    full = "OSError: [Errno 28] No space left on device: '/checkpoints/a'"
    assert not convicts(tmp_path, a_log=[refused] * 3 + steps(0, 90))
    saved = [full, "WARNING saving failed, falling back to /scratch"]
    assert not convicts(tmp_path, a_log=[*steps(0, 50), *saved, *steps(50, 90), DONE])


def test_a_log_that_was_turned_over(tmp_path: Path) -> None:
    old = steps(0, 60) + raised(RAISED)
    assert not convicts(tmp_path, train_log_1=old, train_log=[*steps(0, 90), DONE])
    assert convicts(tmp_path, train_log_1=old, train_log=["rotated by logrotate"])


def test_what_only_the_kernel_tells_is_another_program_s_while_the_job_works(
    tmp_path: Path,
) -> None:
    told = [
        "[Tue Jul 15 22:10:11 2025] NVRM: Xid (PCI:0000:c1:00): 31, pid=7712, name=python3,"
        " Ch 00000009, intr 00000000. MMU Fault: ENGINE GRAPHICS",
        "[Tue Jul 15 22:41:00 2025] python3[7719]: segfault at 8 ip 00007f1b2c11a0aa sp"
        " 00007ffd8e0b1110 error 4 in libpython3.10.so.1.0[7f1b2c000000+2a0000]",
    ]
    assert not convicts(tmp_path, job_txt=[*steps(0, 9), "$ dmesg -T | tail -2", *told])
    ended = "*** Process received signal 11 ***"
    trace = ["Fatal Python error: Segmentation fault", ended]
    assert convicts(tmp_path, job_txt=[*steps(0, 9), *trace, "$ dmesg -T | tail -2", *told])


def test_of_two_starts_the_hang_of_the_last_one_counts(tmp_path: Path) -> None:
    """Rank 0 raised in the first start; in the second rank 1 stood still until it was stopped."""
    output = tmp_path / "output" / "gn0"
    output.mkdir(parents=True)
    first = "2026-05-01T10:00:20.000000+00:00 "
    stopped = (
        "2026-05-01T10:01:30.000000+00:00 W0501 10:01:30.000000 4100 "
        "torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal, "
        "shutting down workers"
    )
    lines = [first + line for line in raised("RuntimeError: loss is nan", rank=0)]
    (output / "stdout.log").write_text("\n".join([*lines, stopped]) + "\n")
    (tmp_path / "run.json").write_text('{"schema": "unhang.run/1", "id": "r", "exit_code": 1}')
    (tmp_path / "standing.json").write_text(
        '{"schema":"unhang.standing/1","at_s":1777629691.0,"up_s":91.0,"world_size":2,'
        '"restart":1,"began_s":1777629630.0,\n"suspicions":[\n'
        '{"culprits":"1","victims":"0","charge":"asleep","stage":"suspected",'
        '"call":{"group":"0","seq":4,"members":"0-1"},"since_s":28.0,"still_s":27.4,'
        '"place":"load (train.py:14)"}\n]}\n'
    )
    found = diagnose(str(tmp_path))
    assert (found.outcome, sorted(found.culprits)) == (Outcome.LOCATED, [1])
    assert [sorted(earlier.culprits) for earlier in found.earlier] == [[0]]


REFUSED = (
    "gpu07:4711:4790 [2] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_reg_mr failed with error "
    "Cannot allocate memory"
)


@pytest.mark.parametrize(("begin", "count", "history"), [(1, 4, True), (1, 2, False)])
def test_a_warning_before_the_first_steps_is_history(
    begin: int, count: int, history: bool, tmp_path: Path
) -> None:
    log = tmp_path / "job.log"
    log.write_text("\n".join([REFUSED, *steps(begin, begin + count)]) + "\n")
    assert (diagnose(str(log)).cause is None) is history


def test_a_warning_amid_work_is_history_only_by_times(tmp_path: Path) -> None:
    """Steps of before may stand below it, when they come out of a buffer."""
    log = tmp_path / "job.log"
    log.write_text("\n".join([*steps(1, 5), REFUSED, *steps(5, 9)]) + "\n")
    assert diagnose(str(log)).cause is not None
