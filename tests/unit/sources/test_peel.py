"""Wrappers come off; what they tell is kept; what is the message's own stays."""

from __future__ import annotations

import datetime

import pytest

from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import NOBODY, Origin
from unhang.model.time import Clock
from unhang.sources.clean import clean
from unhang.sources.line import Header
from unhang.sources.peel import PeeledMessage, peel

C10 = "[E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607] "


def one(line: str) -> PeeledMessage:
    (message,) = peel(clean(line))
    return message


def who(
    *,
    rank: int | None = None,
    local_rank: int | None = None,
    task: int | None = None,
    host: str | None = None,
    pid: int | None = None,
    actor: str | None = None,
    repeated: int = 0,
) -> Origin:
    return Origin(
        rank=None if rank is None else Rank(rank),
        local_rank=None if local_rank is None else LocalRank(local_rank),
        task=task,
        host=host,
        pid=pid,
        actor=actor,
        repeated=repeated,
    )


@pytest.mark.parametrize(
    ("line", "text", "origin"),
    [
        ("[rank3]: Traceback (most recent call last):", None, who(rank=3)),
        ('[rank3]:   File "a.py", line 1', '  File "a.py", line 1', who(rank=3)),
        ("[default3]:hello", "hello", who(local_rank=3)),
        ('[default3]:  File "a.py"', '  File "a.py"', who(local_rank=3)),
        ("[default1]:[rank5]: ValueError: x", "ValueError: x", who(local_rank=1, rank=5)),
        ("[rank0]:[rank4]: ValueError: x", "ValueError: x", who(local_rank=0, rank=4)),
        ("[rank4]: [rank4]: ready", "ready", who(rank=4)),
        ("[gpu-12:5]:[rank13]: x", "x", who(host="gpu-12", local_rank=5, rank=13)),
        ("rank7]:" + C10 + "x", "x", who(rank=7)),
        ("7]:" + C10 + "x", "x", who(rank=7)),
        ("[RANK 1] x", "x", who(rank=1)),
        ("ranker/0 [1]:Fatal Python error: Aborted", "Fatal Python error: Aborted", who(task=1)),
        ('ranker/12   File "a.py", line 3', None, who()),
        ("step/3 of 9", "step/3 of 9", who()),
        ("[12] step 40/900 loss 2.1", "[12] step 40/900 loss 2.1", who()),
        ("[12] Tesla V100", "[12] Tesla V100", who()),
        ("Fit: INFO 3 : core.loop : done", "core.loop : done", who(task=3)),
        ("[rank: 3] Child process terminated", "Child process terminated", who(rank=3)),
        (
            "(WorkerDict pid=4711, ip=10.0.0.2) x",
            "x",
            who(actor="WorkerDict", pid=4711, host="10.0.0.2"),
        ),
        ("\x1b[36m(RayTrainWorker pid=47)\x1b[0m x", "x", who(actor="RayTrainWorker", pid=47)),
        ("(pid=47) x", "x", who(pid=47)),
        ("(raylet, ip=10.0.0.2) x", "x", who(actor="raylet", host="10.0.0.2")),
        ("(A pid=1) x [repeated 7x across cluster]", "x", who(actor="A", pid=1, repeated=7)),
        (" 12: x", "x", who(task=12)),
        ("1: [rank1]:" + C10 + "x", "x", who(task=1, rank=1)),
        ("[1,5]<stderr>:  File", "  File", who(task=5)),
        ("[1,mpirank:5,algo-1]<stdout>:x", "x", who(rank=5, host="algo-1")),
        ("2023-04-16 20:41:37,520 INFO [train.py:90] (5/8) Batch", "Batch", who(rank=5)),
        ("2023-04-16 20:41:37,520 INFO (5/8) Batch", "(5/8) Batch", who()),
        ("[3]: x", "x", who(task=3)),
        ("[pod/trainer-0/pytorch] x", "x", who(host="trainer-0")),
        ("pod/trainer-0 x", "x", who(host="trainer-0")),
        ("train.gn41.nolog [stderr] [rank14]: x", "x", who(host="train.gn41.nolog", rank=14)),
        ("192.0.2.10: x", "x", who(host="192.0.2.10")),
        ("[node-1] x", "x", who(host="node-1")),
        (":0:rocdevice.cpp       :2881: 1131519236 us: [pid:71 tid:0x7f1] x", "x", who(pid=71)),
        ("[host2] F0929 17:42:48.594200 10445 client.h:77] x", "x", who(host="host2")),
        ("worker-1:   File", "  File", who(host="worker-1")),
        ("tpu9: [rank3]: x", "x", who(host="tpu9", rank=3)),
        ("zeus4: NVRM: Xid x", "NVRM: Xid x", who(host="zeus4")),
        ("zeus4: mlx5_core 0000:5e:00.0 ib3: x", None, who(host="zeus4")),
        ("zeus4: [Sat Aug 19 04:12:07 2023] NVRM: x", None, who(host="zeus4")),
        ("[node1:12345] *** Process received signal ***", None, who(host="node1", pid=12345)),
        ("[1803] [rank3]: x", "x", who(rank=3)),
        ("> > [rank3]: x", "x", who(rank=3)),
        ("  | [rank3]: x", "x", who(rank=3)),
        (">   indented", "  indented", NOBODY),
        ("^[[A^[[A^[  [rank3]: x", "x", who(rank=3)),
        ("Rank 5: all_reduce returned", "all_reduce returned", who(rank=5)),
        ("[2026-06-02 11:17:52 DP0 TP3] x", "x", who(actor="DP0 TP3")),
        ("2026-06-02T11:17:52.5Z stderr F [rank3]: x", "x", who(rank=3)),
        ("Nov 21 01:31:45 gpu-07 kernel: NVRM", "kernel: NVRM", who(host="gpu-07")),
        ("2026-11-21T01:31:45+02:00 gpu-07 kernel: NVRM", "kernel: NVRM", who(host="gpu-07")),
    ],
)
def test_speaker(line: str, text: str | None, origin: Origin) -> None:
    message = one(line)
    assert message.origin == origin
    if text is not None:
        assert message.text == text


@pytest.mark.parametrize(
    "line",
    [
        "node:5192:5325 [1] NCCL INFO comm 0x7fe0 rank 5 nranks 8",
        "[0] misc/shmutils.cc:114 NCCL WARN Error",
        "[5] is setting up NCCL communicator",
        "[Rank 3] Watchdog caught collective operation timeout",
        "[Rank 0]: Rank 2 failed to pass monitoredBarrier in 3000 ms",
        "[0]:",
        "RuntimeError: CUDA error",
        "srun: error: n1: tasks 0-3: Aborted",
        "    raise ValueError",
        "  rank      : 0 (local_rank: 0)",
        "[c10d] The client socket has failed",
        "Epoch 3:  12%|#   | 5/20 [11:17:52<00:01,  3it/s]",
        "[step100]: loss 3",
        "answer2: the kernel prints NVRM: Xid",
        "\t - [7] Timeout at collective: ALLREDUCE, #1182",
    ],
)
def test_the_messages_own_stays(line: str) -> None:
    assert one(line) == PeeledMessage(text=line, raw=line, origin=NOBODY)


@pytest.mark.parametrize(
    ("line", "header"),
    [
        (
            "[E ProcessGroupNCCL.cpp:828] x",
            Header(severity="E", file="ProcessGroupNCCL.cpp", line=828),
        ),
        (C10 + "x", Header(severity="E", file="ProcessGroupNCCL.cpp", line=607)),
        ("ProcessGroupNCCL.cpp:828] x", Header(severity="", file="ProcessGroupNCCL.cpp", line=828)),
        (
            "E0927 12:07:22.643702 1012209 ProcessGroupNCCL.cpp:1356] x",
            Header(severity="E", file="ProcessGroupNCCL.cpp", line=1356),
        ),
        (
            "W1121 01:38:58.894000 11722 torch/distributed/elastic/api.py:1028] x",
            Header(severity="W", file="torch/distributed/elastic/api.py", line=1028),
        ),
        (
            "[2026-01-09 10:11:12,345] torch.distributed.elastic.api: [ERROR] x",
            Header(severity="E", file="torch.distributed.elastic.api", line=0),
        ),
        (
            "ERROR:torch.distributed.elastic.api:x",
            Header(severity="E", file="torch.distributed.elastic.api", line=0),
        ),
        (
            "[2026-06-02 11:17:52,557] [INFO] [launch.py:315:main] x",
            Header(severity="I", file="launch.py", line=315),
        ),
        ("ERROR 06-02 11:17:52 [core.py:459] x", Header(severity="E", file="core.py", line=459)),
        ("INFO 06-02 11:17:52 utils.py:105] x", Header(severity="I", file="utils.py", line=105)),
        (
            "[WARNING|trainer.py:982] 2026-06-02 11:17:52,557 >> x",
            Header(severity="W", file="trainer.py", line=982),
        ),
        (
            "[NeMo W 2026-06-02 11:17:52 nemo_logging:349] x",
            Header(severity="W", file="nemo_logging", line=349),
        ),
        (
            "2026-06-02 11:17:52.557 | INFO     | module:main:12 - x",
            Header(severity="I", file="module", line=12),
        ),
        (
            "2026-06-02 11:17:52,557 - INFO - __main__ - x",
            Header(severity="I", file="__main__", line=0),
        ),
        (
            "[titan] 2026-06-02 11:17:52,5 - root - INFO - x",
            Header(severity="I", file="root", line=0),
        ),
        (
            "[2026-06-02 11:17:52,557][tokens.pipeline][INFO] - x",
            Header(severity="I", file="tokens.pipeline", line=0),
        ),
        (
            "[2026-06-02 11:17:52,557][I][trainer/base:33] x",
            Header(severity="I", file="trainer/base", line=33),
        ),
        (
            "[06/02 11:17:52 d2.engine.loop]: x",
            Header(severity="", file="d2.engine.loop", line=0),
        ),
        (
            "06/02 11:17:52 - mmengine - INFO - x",
            Header(severity="I", file="mmengine", line=0),
        ),
        (
            "2026-06-02 11:17:52.557123: I tensorflow/core/a.cc:12] x",
            Header(severity="I", file="tensorflow/core/a.cc", line=12),
        ),
        (
            "[2026-06-02 11:17:52,557 E 1234 1250] (raylet) node_manager.cc:3069: x",
            Header(severity="E", file="node_manager.cc", line=3069),
        ),
    ],
)
def test_header(line: str, header: Header) -> None:
    message = one(line)
    assert message.header == header
    assert message.text == "x"


def test_a_header_of_python_tells_the_process() -> None:
    assert one("W1121 01:38:58.894000 11722 torch/a.py:1028] x").origin.pid == 11722
    assert one("W1121 01:38:58.894000 139692391809664 torch/a.py:1028] x").origin.pid is None
    assert one("W1121 01:38:58.894000 11722 a.cpp:1028] x").origin.pid is None


def test_blanks_behind_a_header_are_the_messages() -> None:
    assert one("ERROR 06-02 11:17:52 [core.py:459]   File").text == "  File"
    assert one("[rank3]:" + C10 + "[PG ID 0 Rank 3]  failure").text == "[PG ID 0 Rank 3]  failure"


_UTC = datetime.timezone.utc


def _seconds(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float:  # noqa: PLR0917
    return datetime.datetime(year, month, day, hour, minute, second, tzinfo=_UTC).timestamp()


@pytest.mark.parametrize(
    ("line", "clock", "seconds"),
    [
        ("2026-06-02T11:17:52.557Z x", Clock.UTC, _seconds(2026, 6, 2, 11, 17, 52) + 0.557),
        ("2026-06-02T13:17:52+02:00 x", Clock.UTC, _seconds(2026, 6, 2, 11, 17, 52)),
        ("2026-06-02 11:17:52,557 x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52) + 0.557),
        ("2026/06/02 11:17:52 x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52)),
        ("06/02/2026 11:17:52 - x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52)),
        ("[06/02/26 11:17:52] x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52)),
        ("23/02/2026 11:17:52 x", Clock.LOCAL, _seconds(2026, 2, 23, 11, 17, 52)),
        ("[Mon Feb 23 16:24:18 2026] NVRM", Clock.LOCAL, _seconds(2026, 2, 23, 16, 24, 18)),
        ("Mon Feb 23 16:24:18 UTC 2026 x", Clock.UTC, _seconds(2026, 2, 23, 16, 24, 18)),
        ("[06/02/2026-11:17:52] [TRT-LLM] x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52)),
        ("06/02 11:17:52 - x", Clock.LOCAL_NO_YEAR, 153 * 86400 + 40672.0),
        ("<4>[  602.980286] NVRM", Clock.UPTIME, 602.980286),
        ("11:17:52 x", Clock.TIME_OF_DAY, 11 * 3600 + 17 * 60 + 52.0),
        ("[523602.980286] Out of memory", Clock.UPTIME, 523602.980286),
        ("[1794407135.546337] [h:117  :0] UCX", Clock.UTC, 1794407135.546337),
        (
            C10 + "x",
            Clock.LOCAL_NO_YEAR,
            (31 + 29 + 13) * 86400 + 14 * 3600 + 33 * 60 + 45.17218586,
        ),
        ("[E1003 00:00:00.5 File.cpp:6] x", Clock.LOCAL_NO_YEAR, 276 * 86400 + 0.5),
        ("Jun  2 00:00:01 h kernel: x", Clock.LOCAL_NO_YEAR, 153 * 86400 + 1.0),
        (
            "[2026-11-21 01:31:45] h:1:2 [0] x.cc:1 NCCL WARN x",
            Clock.LOCAL,
            _seconds(2026, 11, 21, 1, 31, 45),
        ),
        ("2026-06-02 11:17:52 [rank1]:" + C10 + "x", Clock.LOCAL, _seconds(2026, 6, 2, 11, 17, 52)),
        ("11:17:52 " + C10 + "x", Clock.LOCAL_NO_YEAR, 73 * 86400 + 52425.17218586),
    ],
)
def test_time(line: str, clock: Clock, seconds: float) -> None:
    at = one(line).at if line.strip() else None
    if at is None:  # a line that is nothing but its time has no message
        pytest.fail("no time was read")
    assert at.clock is clock
    assert at.seconds == pytest.approx(seconds, abs=1e-4)


@pytest.mark.parametrize(
    "line", ["99:99:99 x", "2026-13-45 11:17:52 x", "[E9999 14:33:45.1 F.cpp:6] x"]
)
def test_an_impossible_time_is_no_time(line: str) -> None:
    assert one(line).at is None


def test_the_fraction_of_a_c10_header_means_nothing() -> None:
    at = one(C10 + "x").at
    assert at is not None
    assert at.resolution_s == 1.0


def test_a_message_behind_a_progress_bar() -> None:
    bar = "[default0]:Grouping:   8%|#  | 7/9 [02:32<31:13, 4 examples/s]"
    first, second = peel(bar + "[default2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog")
    assert (first.text, first.origin) == (bar[len("[default0]:") :], who(local_rank=0))
    assert (second.text, second.origin) == ("[Rank 2] Watchdog", who(local_rank=2))
    assert second.raw == "[default2]:[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog"


def test_two_messages_and_a_bar_on_one_line() -> None:
    line = f"[rank0]:{C10}[Rank 0] a timing out.[rank1]:{C10}[Rank 1] b. 30%|###   | 6/20 [00:01"
    messages = list(peel(line))
    assert [m.text for m in messages] == [
        "[Rank 0] a timing out.",
        "[Rank 1] b.",
        "30%|###   | 6/20 [00:01",
    ]
    assert [m.origin for m in messages] == [who(rank=0), who(rank=1), NOBODY]


def test_a_launchers_wrapper_holds_for_the_whole_line() -> None:
    line = f"(W pid=4, ip=10.0.0.2) 2026-06-02 11:17:52 [rank0]:{C10}a[E1121 01:00:00.1 F.cpp:6] b"
    first, second = peel(line)
    assert first.origin == who(actor="W", pid=4, host="10.0.0.2", rank=0)
    assert second.origin == who(actor="W", pid=4, host="10.0.0.2")
    assert first.at == second.at


def test_nccl_messages_glued_together() -> None:
    line = "gpu-7:22:23 [0] NCCL INFO Bootstrap : gpu-7:22:24 [1] NCCL INFO comm"
    assert [m.text for m in peel(line)] == [
        "gpu-7:22:23 [0] NCCL INFO Bootstrap :",
        "gpu-7:22:24 [1] NCCL INFO comm",
    ]


def test_a_prefix_without_a_message_says_nothing() -> None:
    assert list(peel("[gpu-7:0]:")) == []
    assert list(peel("   ")) == []


def test_what_the_path_tells_is_the_base() -> None:
    base = who(rank=3, host="a")
    (message,) = peel("[rank5]: x", base)
    assert message.origin == who(rank=5, host="a", local_rank=3)


def test_hostile_lines_are_bounded() -> None:
    messages = list(peel(("[rank1]:" + C10 + "x") * 500))
    assert len(messages) == 65
    assert list(peel("[rank1]:" * 3000))
    assert list(peel("(" * 50_000 + "pid="))
    assert list(peel("1: " * 3000))


def test_a_line_that_came_before_is_told_alike() -> None:
    """Lines without wrappers are remembered, whoever printed them."""
    frame = "    wait (threading.py:320)  "
    for rank in (0, 1, 1):
        (message,) = peel(frame, Origin(rank=Rank(rank)))
        assert (message.text, message.raw) == ("    wait (threading.py:320)", frame)
        assert message.origin.rank == rank


def test_a_terminal_s_echo_before_a_message() -> None:
    line = (
        "^CW0213 12:06:01.994000 413377 torch/distributed/elastic/agent/server/api.py:719] Received"
    )
    echo, message = peel(line)
    assert (echo.text, message.text) == ("^C", "Received")
    assert message.at is not None


def test_ascend_s_logs() -> None:
    head = "[ERROR] RUNTIME(71,python3):2026-11-05-08:29:11.901.007 [device_error_proc.cc:702]3011 "
    (told,) = peel(head + "ProcessStarsHbmError: device(5) HBM multi bit ecc error")
    assert (told.text, told.origin.pid) == ("device(5) HBM multi bit ecc error", 71)
    assert told.at is not None
    (told,) = peel("[ERROR] 2026-11-05-08:59:41 (PID:22, Device:4, RankID:4) ERR02200 DIST failed.")
    assert (told.origin.rank, told.origin.pid) == (4, 22)


def test_hydra_s_labels() -> None:
    for text in ("Traceback (most recent call last):", "ImportError: no x", "    from a import b"):
        (told,) = peel(f"[6] {text}")
        assert (told.origin.task, told.text) == (6, text)
    for text in ("loading shard 1/5", "warning: slow"):
        (told,) = peel(f"[1803] {text}")
        assert told.origin.task is None


def test_containers_of_sagemaker() -> None:
    (told,) = peel("[algo-2-q8x2k] FileNotFoundError: [Errno 2] No such file")
    assert (told.origin.host, told.text[:5]) == ("algo-2-q8x2k", "FileN")
