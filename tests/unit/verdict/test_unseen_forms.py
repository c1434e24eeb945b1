"""Logs in forms that no list has, each with the neighbour that must stay quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis

GAVE_UP = (
    "[rank{rank}]:[E1114 09:10:16.045040699 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught"
    " collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={n}, NumelOut={n},"
    " Timeout(ms)={ms}) ran for {late} milliseconds before timing out."
)


def gave_up(
    rank: int, *, seq: int = 1, op: str = "ALLREDUCE", n: int = 1, ms: int = 600_000
) -> str:
    return GAVE_UP.format(rank=rank, seq=seq, op=op, n=n, ms=ms, late=ms + 40)


def judged(tmp_path: Path, *lines: str, name: str = "job.log") -> Diagnosis:
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(tmp_path))


def test_a_bar_of_blocks_with_its_elapsed_time_in_front(tmp_path: Path) -> None:
    bars = [
        f"[00:{m:02}:00] Merge symbols    ███████░░░░░░░░░░   {m}4512 / 1304921" for m in range(11)
    ]
    waiting = [gave_up(rank) for rank in (1, 2, 3)]
    assert judged(tmp_path, "4 processes", *bars, *waiting).cause is None
    bars = [bar.replace("Merge symbols", "Tokenize words") for bar in bars]
    diagnosis = judged(tmp_path, "4 processes", *bars, *waiting)
    assert diagnosis.cause is Cause.DATA_SLOW


@pytest.mark.parametrize(
    ("announced", "cause"),
    [("caching latents...", Cause.DATA_SLOW), ("thinking hard...", None)],
)
def test_a_bar_is_that_of_the_line_above(
    announced: str, cause: Cause | None, tmp_path: Path
) -> None:
    bars = [f" {m}%|██   | {m * 15}/1818 [{m}:10<29:00,  1.14s/it]" for m in range(1, 10)]
    waiting = [gave_up(rank) for rank in (1, 2, 3)]
    assert judged(tmp_path, "world_size=4", announced, *bars, *waiting).cause is cause


def test_parts_of_a_save_that_end_before_and_after_the_alarm(tmp_path: Path) -> None:
    head = "2026-11-14 {at} [rank 0] "
    begin = head.format(at="09:00:14,000") + "Saving checkpoint to /ckpt/40"
    part = head.format(at="09:05:14,000") + "Saved model_0.safetensors (4.96 GB)"
    later = head.format(at="09:10:34,000") + "Saved model_1.safetensors (4.96 GB)"
    waiting = [gave_up(rank, n=4096, seq=4, op="BROADCAST") for rank in (1, 2, 3)]
    diagnosis = judged(tmp_path, begin, part, *waiting, later)
    assert diagnosis.cause is Cause.CHECKPOINT_SLOW
    assert diagnosis.culprits == {0}
    assert judged(tmp_path, begin, part, *waiting).cause is None


def test_gloo_finds_no_way(tmp_path: Path) -> None:
    text = "RuntimeError: [/b/gloo/transport/tcp/socket.cc:142] rv != -1. -1 vs -1. connect: {why}"
    head = 'Traceback (most recent call last):\n  File "/job/a.py", line 3, in f\n    x\n'
    log = head + text.format(why="Network is unreachable")
    assert judged(tmp_path, log).cause is Cause.NET_INTERFACE
    assert judged(tmp_path, log.replace("gloo/", "zmq/")).cause is not Cause.NET_INTERFACE


def test_who_crashed_first_is_no_victim_of_the_launcher(tmp_path: Path) -> None:
    head = "1118 03:33:11.237000 48514 torch/distributed/elastic/multiprocessing/api.py:"
    closing = [f"W{head}897] Sending process {pid} closing signal SIGTERM" for pid in (11, 12)]
    failed = f"E{head}869] failed (exitcode: -{{}}) local_rank: 0 (pid: 12) of binary: python3"
    assert judged(tmp_path, *closing, failed.format(11)).cause is Cause.RANK_CRASH
    assert judged(tmp_path, *closing, failed.format(15)).cause is None


def test_ranks_that_gather_in_different_lines_of_the_program(tmp_path: Path) -> None:
    def raised(rank: int, line: int) -> str:
        return "\n".join(
            f"[rank{rank}]: {text}"
            for text in (
                "Traceback (most recent call last):",
                f'  File "/job/tune.py", line {line}, in <module>',
                "    x",
                '  File "/v/lib/python3.11/site-packages/torch/distributed/fsdp/_flat_param.py",'
                " line 1400, in _all_gather_flat_param",
                "    dist.all_gather_into_tensor(",
                "torch.distributed.DistBackendError: Watchdog caught collective operation timeout",
            )
        )

    waits = [
        gave_up(rank, seq=2231, op="_ALLGATHER_BASE", n=n) for rank, n in ((0, 81_920), (1, 71_136))
    ]
    apart = judged(tmp_path, *waits, raised(0, 188), raised(1, 191))
    assert apart.cause is Cause.DESYNC
    together = judged(tmp_path, *waits, raised(0, 188), raised(1, 188))
    assert together.cause is Cause.MODEL_DIVERGENCE


def test_the_file_of_the_rank_that_compiles(tmp_path: Path) -> None:
    step = "2026-11-14 09:{m:02}:00 torchinductor compiling FORWARDS graph {m}"
    closed = (
        "[rank1]:[W1114 09:10:20.745177816 TCPStore.cpp:125] [c10d] recvValue failed on"
        " SocketImpl(fd=61, addr=[b]:38114, remote=[a]:29500): failed to recv, got 0 bytes"
    )
    work = [step.format(m=m) for m in range(11)]
    judged(tmp_path, gave_up(0, seq=3, n=50_331_648), name="elm.log")
    diagnosis = judged(tmp_path, *work, closed, name="oak.log")
    assert diagnosis.cause is Cause.COMPILE_SLOW
    assert diagnosis.culprits == {1}


def test_a_node_that_was_preempted(tmp_path: Path) -> None:
    steps = [f"2026-11-14 09:0{m}:00 INFO step {m}/900 loss=2.0" for m in range(9)]
    node = "9m  Warning  NodeShutdown  pod/w-1  Pod was terminated: node shutdown{why}"
    judged(tmp_path, *steps, "2026-11-14 09:09:17 WARNING received signal 15")
    stopped = judged(tmp_path, node.format(why=" (preempted)"), name="events.txt")
    assert stopped.cause is Cause.EXTERNAL_STOP
    (tmp_path / "job.log").write_text("\n".join(steps) + "\n")
    assert judged(tmp_path, node.format(why=""), name="events.txt").cause is Cause.RANK_CRASH


def test_a_kill_while_a_model_is_loaded(tmp_path: Path) -> None:
    head = "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 7"
    killed = f"{head} (pid: 2107) of binary: python"
    loading = "Loading checkpoint shards:  63%|██████▎   | 12/19 [08:59<09:57, 85.36s/it]"
    assert judged(tmp_path, loading, killed).cause is Cause.HOST_OOM
    mapping = "Map (num_proc=64):  82%|████████▏ | 8200/10000 [05:00<01:06, 27.00 examples/s]"
    assert judged(tmp_path, mapping, killed).cause is Cause.HOST_OOM
    steps = [f"2026-11-14 09:0{m}:00 INFO step {m}/900 loss=2.0" for m in range(9)]
    assert judged(tmp_path, loading, *steps, killed).cause is None
