"""A judge reads each file of a bundle as what it is, and accuses nobody by accident."""

from pathlib import Path

import pytest

import unhang
from unhang.capturing.bundle import BundleMember, write_bundle
from unhang.model.diagnosis import Diagnosis, Outcome

HOST = "host=gpu-07"


def stacks(pid: int, *frames: str) -> str:
    listed = "\n".join(f"    {frame}" for frame in (*frames, "<module> (train.py:40)"))
    look = f'Process {pid}: python -u train.py\nThread {pid} (idle): "MainThread"\n{listed}\n'
    return "\n".join((look, look, look))


WAITS = "all_reduce (torch/distributed/distributed_c10d.py:3252)"
JOB = {
    f"{HOST}/rank_0/stacks.txt": stacks(100, WAITS),
    f"{HOST}/rank_1/stacks.txt": stacks(101, "prepare (data.py:7)"),
    f"{HOST}/rank_2/stacks.txt": stacks(102, WAITS),
    **{
        f"{HOST}/rank_{r}/environment.txt": f"RANK={r} LOCAL_RANK={r} WORLD_SIZE=3\nRANK={r}\n"
        for r in range(3)
    },
}
FOREIGN_KERNEL = """\
2026-11-21T07:15:00,123456+00:00 Out of memory: Killed process 9999 (firefox) total-vm:10kB, \
anon-rss:244000kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0
2026-11-21T07:16:00,123456+00:00 chrome[8888]: segfault at 7f00 ip 00007f sp 00007f error 6 in lib
2026-11-21T07:16:10,123456+00:00 python3[8889]: segfault at 7f00 ip 00007f sp 00007f error 6 in lib
2026-11-21T07:16:20,123456+00:00 INFO: task jbd2/vda-8:200 blocked for more than 122 seconds.
2026-11-21T07:16:30,123456+00:00 mlx5_core 0000:5e:00.0 ib3: Link up
"""
QUOTING_ENVIRONMENT = """\
RANK=0 LOCAL_RANK=0 WORLD_SIZE=3
BASH_FUNC_ml%%=() {  eval $($LMOD_DIR/ml_cmd "$@") || echo "Error: unhandled system error"\\n}
LAST=Traceback (most recent call last):\\n  File "x.py", line 1, in <module>\\nValueError: x
MOTD=slurmstepd: error: *** JOB 77 ON gpu-07 CANCELLED AT 2026-11-21T07:00:00 DUE TO TIME LIMIT ***
NOTE=torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
RANK=0
TOOLTIP=RuntimeError: CUDA error: an illegal memory access was encountered
WATCH=[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, \
OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600500 milliseconds
"""


def judge(tmp_path: Path, **more: str) -> Diagnosis:
    files = JOB | {f"{HOST}/{name.replace('__', '/')}.txt": text for name, text in more.items()}
    path = tmp_path / "b.unhang.tar.zst"
    write_bundle(path, [BundleMember(name, text.encode()) for name, text in files.items()])
    return unhang.diagnose(str(path))


def test_the_rank_outside_the_wait_is_named_with_its_host(tmp_path: Path) -> None:
    verdict = judge(tmp_path)
    assert verdict.outcome is Outcome.LOCATED
    assert verdict.culprits == {1}
    assert verdict.coverage.world_size == 3
    assert verdict.coverage.ranks_seen == {0, 1, 2}
    assert verdict.culprit_hosts == {"gpu-07"}


@pytest.mark.parametrize(
    "more",
    [
        {"kernel": FOREIGN_KERNEL},
        {"rank_0__environment": QUOTING_ENVIRONMENT},
    ],
)
def test_other_peoples_trouble_changes_no_verdict(tmp_path: Path, more: dict[str, str]) -> None:
    alone, together = judge(tmp_path), judge(tmp_path, **more)
    assert together.culprits == alone.culprits == {1}
    assert together.cause is alone.cause
    assert together.summary == alone.summary
