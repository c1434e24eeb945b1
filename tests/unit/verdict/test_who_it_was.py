"""Lines that prove a rank, each by a grammar of its own; and those that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis


def judged(folder: Path, *lines: str) -> Diagnosis:
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return unhang.diagnose(str(folder / "job.log"))


@pytest.mark.parametrize("host", ["node1", "gx-4.cluster.example.org", "x40c5s4b0n0.hsn.cm.gov"])
def test_the_one_that_no_launcher_ended(host: str, tmp_path: Path) -> None:
    died = "{host}: rank {rank} died from signal {signal}"
    lines = [died.format(host=host, rank=r, signal=s) for r, s in ((256, 11), (0, 15), (96, 15))]
    found = judged(tmp_path, *lines)
    assert found.cause is Cause.RANK_CRASH
    assert found.culprits == {256}


def test_a_command_between_the_rank_and_its_code(tmp_path: Path) -> None:
    line = (
        "Container rank 2 status failed cmd ['/opt/bin/python', '-u', 'fit.py', '-n', '4'] code -9"
    )
    assert judged(tmp_path, "step 9 loss 2.1", line).culprits == {2}


@pytest.mark.parametrize(
    "start",
    [
        "local_rank={n} pid=212{n} seed=7",
        "rank {n} (pid 212{n}) ready",
        "process with pid 212{n} runs as rank {n}",
        "node gx4, pid 212{n}, using GPU {n}.",
    ],
)
def test_a_process_by_what_it_said_at_the_start(start: str, tmp_path: Path) -> None:
    starts = [start.format(n=n) for n in range(4)]
    died = "[gx4:2123 :0:7025] Caught signal 7 (Bus error: nonexistent physical address)"
    closed = [
        f"[2026-03-01 00:52:1{n},000] [INFO] [launch.py:286:sigkill_handler] "
        f"Killing subprocess 212{n}"
        for n in range(4)
    ]
    assert judged(tmp_path, "world size: 4", *starts, died).culprits == {3}
    assert judged(tmp_path, "world size: 4", *starts, died, *closed).culprits == {3}
    other = died.replace("2123", "9999")
    assert judged(tmp_path, "world size: 4", *starts, other).culprits == frozenset()


@pytest.mark.parametrize(("device", "named"), [(5, {13}), (0, set())])
def test_a_gpu_by_its_index_on_a_node(device: int, named: set[int], tmp_path: Path) -> None:
    """A process that sees one GPU alone calls it 0, whichever it is."""
    nodes = [f"node{k}: [INFO] nnodes=2, num_local_procs=8, node_rank={k}" for k in (0, 1)]
    oom = (
        "node1: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. "
        f"GPU {device} has a total capacity of 79.15 GiB of which 1.21 GiB is free."
    )
    assert judged(tmp_path, *nodes, oom).culprits == named
    assert judged(tmp_path, oom).culprits == frozenset(), "nothing tells which node it is"


@pytest.mark.parametrize(
    "words",
    [
        "RayWorkerProc rank=[5] died unexpectedly, shutting down executor.",
        "Rank 5 exited abruptly",
        "Trainer worker rank 5 (pid 4711) was lost unexpectedly",
        "Rank 5 scheduler is dead. Please check if there are relevant logs.",
    ],
)
def test_a_death_without_a_code(words: str, tmp_path: Path) -> None:
    found = judged(tmp_path, "world size: 8", "step 9 loss 2.1", f"ERROR {words}")
    assert found.culprits == {5}


def _reports(local: int, rank: int) -> str:
    return (
        f"  rank      : {rank} (local_rank: {local})\n  exitcode  : 1 (pid: 400{local})\n"
        "  error_file: <N/A>"
    )


@pytest.mark.parametrize(("errors", "named"), [(2, {8, 9}), (3, set())])
def test_as_many_errors_as_processes_that_left(
    errors: int, named: set[int], tmp_path: Path
) -> None:
    """Tracebacks that name nobody, all alike, are those of the processes that a table lists."""
    error = "RuntimeError: CUDA error: invalid device ordinal"
    lines = [
        "world size: 16",
        *(
            "Traceback (most recent call last):\n" + f'  File "t.py", line {n}, in f\n{error}'
            for n in range(errors)
        ),
        "============",
        "t.py FAILED",
        "------------",
        "Failures:",
        f"[1]:\n  host      : gx4\n{_reports(1, 9)}",
        "------------",
        "Root Cause (first observed failure):",
        f"[0]:\n  host      : gx4\n{_reports(0, 8)}",
        "============",
    ]
    assert judged(tmp_path, *lines).culprits == named


def test_two_processes_that_ended_alike(tmp_path: Path) -> None:
    lines = (
        "[gx4:7745 :0:8166] Caught signal 7 (Bus error: nonexistent physical address)",
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -7) local_rank: 0 "
        "(pid: 7737) of binary: /usr/bin/python3",
    )
    assert judged(tmp_path, *lines).culprits == frozenset()


def test_who_was_told_that_another_failed(tmp_path: Path) -> None:
    shut = (
        "UnknownError: The runtime has been shut down. This was caused by an exception on one of "
        "the ranks or an attempt to reduce after one of the ranks finished"
    )
    raised = "tensorflow.python.framework.errors_impl.InvalidArgumentError: Key: seq_len. values 0"
    lines = [f"[rank{r}]: {raised if r == 1 else shut}" for r in (2, 0, 3, 1)]
    assert judged(tmp_path, *lines).culprits == {1}


@pytest.mark.parametrize(
    ("times", "after", "cause"),
    [(3, 0, Cause.RDMA_FAULT), (1, 0, None), (3, 2, None)],
)
def test_a_port_that_stays_down(
    times: int, after: int, cause: Cause | None, tmp_path: Path
) -> None:
    head = "n2:2308:2399 [7] transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_7:1 "
    down = f"{head}Got async event : port error"
    lines = [down] * times + [f"step {n} loss 2.1" for n in range(after)]
    stop = "KeyboardInterrupt"
    assert judged(tmp_path, "step 0 loss 2.3", *lines, stop).cause is cause


@pytest.mark.parametrize("script", ["run.sh", "/home/me/jobs/go.sbatch", "./start"])
def test_a_shell_names_its_script(script: str, tmp_path: Path) -> None:
    killed = f"{script}: line 12: 33011 Killed                  python fit.py --bs 8"
    found = judged(tmp_path, "step 1 loss 2.1", killed)
    assert found.likely is not None
    assert found.likely.cause is Cause.HOST_OOM


TABLE = """\
[{n}]:
  time      : 2026-05-01_02:53:11
  host      : gpu-7
  rank      : {rank} (local_rank: {rank})
  exitcode  : {code} (pid: 20{rank})
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"""
LAUNCHER = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "


def table(*ranks: int, code: str = "1 ") -> str:
    rows = [TABLE.format(n=n, rank=rank, code=code.strip()) for n, rank in enumerate(ranks)]
    others = ["Failures:", *(rows[1:] or ["  <NO_OTHER_FAILURES>"]), "-" * 60]
    first = ["Root Cause (first observed failure):", rows[0], "=" * 60]
    return "\n".join([LAUNCHER, "=" * 60, "train.py FAILED", "-" * 60, *others, *first])


@pytest.mark.parametrize("marks", ["~~~~~^~~~~", "~~~~~~~~^^^^", '"""select a', "```sql"])
def test_a_source_line_that_looks_like_a_fence_hides_nothing(marks: str, tmp_path: Path) -> None:
    """Python marks a part of a line; a program may begin a text on it."""
    work = [f"Epoch 4: 55%|#####  | {n}/5512 [30:46<25:15, 1.64it/s]" for n in range(5)]
    raised = [
        "[rank5]: Traceback (most recent call last):",
        '[rank5]:   File "/job/dit.py", line 62, in forward',
        "[rank5]:     text = text + embed",
        f"[rank5]:            {marks}",
        "[rank5]: RuntimeError: The size of tensor a (141) must match the size of tensor b (158)",
    ]
    found = judged(tmp_path, *work, *raised, *work[-2:], table(5))
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == {5}


def test_lines_of_hosts_that_are_not_named_count_nobody_s_local_rank(tmp_path: Path) -> None:
    """Four agents print to one log: a local rank is that of four ranks."""
    started = [
        f"[default{rank % 4}]:| distributed init (rank {rank}): env://, gpu {rank % 4}"
        for rank in range(16)
    ]
    fault = "Process group watchdog thread terminated with exception: CUDA error: "
    ended = f"[default0]:  what():  [PG 0 (default_pg) Rank 12] {fault}uncorrectable ECC error"
    found = judged(tmp_path, *started, f"[default0]:[rank12]: RuntimeError: {ended[50:]}", ended)
    assert found.culprits == {12}


def test_those_that_ran_out_of_memory_unless_all_did(tmp_path: Path) -> None:
    def out_of_memory(rank: int) -> str:
        return (
            f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate"
            f" 136.00 MiB. GPU {rank} has a total capacity of 39.39 GiB of which 64.31 MiB is free."
        )

    size = (
        "[Gloo] Rank 0 is connected to 2 peer ranks. Expected number of connected peer ranks is : 2"
    )
    assert judged(tmp_path, size, out_of_memory(1), out_of_memory(2)).culprits == {1, 2}
    assert judged(tmp_path, size, *map(out_of_memory, range(3))).culprits == frozenset()


def test_the_process_whose_loader_workers_died(tmp_path: Path) -> None:
    lines = [
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient"
        " shared memory (shm).",
        "RuntimeError: DataLoader worker (pid 262) is killed by signal: Bus error. It is possible"
        " that dataloader's workers are out of shared memory.",
    ]
    found = judged(tmp_path, *lines, "ERROR:composer.cli.launcher:Rank 4 crashed with exit code 1.")
    assert (found.cause, {int(r) for r in found.culprits}) == (Cause.SHM_SMALL, {4})
    both = judged(tmp_path, *lines, table(1, 4))
    assert (both.cause, {int(r) for r in both.culprits}) == (Cause.SHM_SMALL, set())


def test_those_killed_on_the_host_whose_memory_ran_out(tmp_path: Path) -> None:
    told = "srun: error: {host}: task 1: Out Of Memory"
    killed = table(3, 6, code="-9")
    found = judged(tmp_path, killed, told.format(host="gpu-7"))
    assert (found.cause, {int(r) for r in found.culprits}) == (Cause.HOST_OOM, {3, 6})
    assert judged(tmp_path, killed, told.format(host="gpu-9")).culprits != {3, 6}


FULL = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU {gpu}; 7.93 GiB total "
    "capacity; 7.20 GiB already allocated; 17.56 MiB free; 7.5 GiB reserved in total by PyTorch)"
)


def table_of(host: str, at: str, *ranks: int, per_node: int = 4) -> list[str]:
    """An elastic agent's table; the ranks in the order in which it lists them."""
    first, *others = ranks
    rows: list[str] = []
    for place, rank in enumerate((*others, first)):
        rows += [
            "Failures:" if place == 0 and others else "",
            "Root Cause (first observed failure):" if rank == first else "",
            f"[{(place + 1) % len(ranks)}]:",
            f"  time      : 2026-03-01_{at}",
            f"  host      : {host}",
            f"  rank      : {rank} (local_rank: {rank % per_node})",
            f"  exitcode  : 1 (pid: {1940 + rank})",
            "  error_file: <N/A>",
            "  traceback : To enable traceback see: https://pytorch.org/docs",
        ]
    rule = "=" * 60
    return ["ChildFailedError: ", rule, "fit.py FAILED", *filter(None, rows), rule]


ECHO = [
    "Traceback (most recent call last):",
    '  File "fit.py", line 9, in <module>',
    "    loss.backward()",
    "RuntimeError: NCCL Error 6: remote process exited or there was a network error",
]


@pytest.mark.parametrize(
    ("other", "echoes", "named"),
    [
        ("22:45:52", 2, {4}),
        ("22:45:01", 2, set()),
        ("22:45:52", 1, set()),
        ("22:45:52", 3, set()),
    ],
    ids=["later", "at the same time", "one said nothing of a peer", "one left unseen"],
)
def test_the_first_of_those_whose_others_lost_a_peer(
    other: str, echoes: int, named: set[int], tmp_path: Path
) -> None:
    own = ["Traceback (most recent call last):", '  File "fit.py", line 9, in <module>']
    found = judged(
        tmp_path,
        *[*own, "    loss.backward()", FULL.format(gpu=0)],
        *table_of("gx2", "22:45:01", 4),
        *(ECHO * echoes),
        *table_of("gx1", other, 0, 1),
    )
    assert found.cause is Cause.GPU_OOM
    assert found.culprits == named


@pytest.mark.parametrize(("gpu", "named"), [(3, {3}), (2, set()), (0, set())])
def test_the_process_that_has_the_number_of_the_full_gpu(
    gpu: int, named: set[int], tmp_path: Path
) -> None:
    number = gpu if gpu == 0 else 3
    found = judged(
        tmp_path,
        f"| WARNING: ran out of memory with exception: {FULL.format(gpu=gpu)};".replace(
            "RuntimeError: ", ""
        ),
        " Skipping batch",
        "Traceback (most recent call last):",
        '  File "fit.py", line 9, in <module>',
        "    while not spawn_context.join():",
        '  File "/opt/site-packages/torch/multiprocessing/spawn.py", line 114, in join',
        "    raise Exception(msg)",
        "Exception: ",
        "",
        f"-- Process {number} terminated with the following error:",
        "Traceback (most recent call last):",
        '  File "/opt/site-packages/torch/multiprocessing/spawn.py", line 19, in _wrap',
        "    fn(i, *args)",
        '  File "/home/x/gather.py", line 169, in all_gather_list',
        "Exception: Unable to unpickle data from other workers. all_gather_list requires all "
        "workers to enter the function together, so this error usually indicates that the workers "
        "have fallen out of sync somehow. Workers can fall out of sync if one of them runs out of "
        "memory, or if there are other conditions in your training script",
    )
    assert found.cause is Cause.GPU_OOM
    assert found.culprits == named


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("rank 2: 19968 of 20000 samples", {2}),
        ("[Rank 2] loss is NaN", set()),
        ("Rank 2] loss is NaN", set()),
        ("[rank=2]: loss is NaN", {2}),
        ("lost connection to rank 2: closed", set()),
        ("ranks 2: of them", set()),
    ],
)
def test_an_error_that_begins_with_the_rank_that_raises_it(
    message: str, named: set[int], tmp_path: Path
) -> None:
    found = judged(
        tmp_path,
        "epoch 0 batch 230",
        "Traceback (most recent call last):",
        '  File "/home/x/fit.py", line 118, in fit',
        "    check(metrics)",
        f"AssertionError: {message}",
    )
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == named


UNUSED = (
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a "
    "new one. This error indicates that your module has parameters that were not used in producing "
    "loss. Parameter indices which did not receive grad for rank 1: 12 17"
)


@pytest.mark.parametrize(("others", "named"), [((7101,), {1}), ((7101, 7103), {1}), ((), set())])
def test_the_only_one_without_gradients(
    others: tuple[int, ...], named: set[int], tmp_path: Path
) -> None:
    agent = "torch.distributed.elastic.multiprocessing.api:"
    size = len(others) + 1
    found = judged(
        tmp_path,
        f"Starting with world_size={max(size, 2)}",
        "Traceback (most recent call last):",
        '  File "fit.py", line 9, in <module>',
        "    out = model(x)",
        UNUSED,
        *(f"WARNING:{agent}Sending process {pid} closing signal SIGTERM" for pid in others),
        f"ERROR:{agent}failed (exitcode: 1) local_rank: 1 (pid: 7102) of binary: /usr/bin/python",
    )
    assert found.cause is Cause.MODEL_DIVERGENCE
    assert found.culprits == named


def died(name: str) -> list[str]:
    return [
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict",
        "\tpid: 1230",
        f"\tname: {name}",
        "\tip: 10.2.1.6",
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR "
        "Worker exit detail: Worker unexpectedly exits with a connection error code 2.",
    ]


@pytest.mark.parametrize(
    ("name", "each", "named"),
    [
        ("aBcWorkerDict_1:7", ("8",), {15}),
        ("aBcWorkerDict_1:7", (), set()),
        ("aBcWorkerDict_1:7", ("8", "4"), set()),
        ("aBcWorkerDict_0:3", (), {3}),
    ],
    ids=["size known", "size unknown", "pools of two sizes", "first node"],
)
def test_a_worker_that_is_named_after_its_node(
    name: str, each: tuple[str, ...], named: set[int], tmp_path: Path
) -> None:
    config = [f"(TaskRunner pid=811)              'n_gpus_per_node': {n}," for n in each]
    steps = [f"(TaskRunner pid=811) step:{n} - actor/pg_loss:0.01" for n in range(1, 9)]
    assert judged(tmp_path, *config, *steps, *died(name)).culprits == named


def gathered(printer: int, listed: str, *told: int) -> list[str]:
    """What each rank prints where one of them failed while they saved together."""
    api = "torch.distributed.checkpoint.api.CheckpointException: CheckpointException"
    lines = [
        "Traceback (most recent call last):",
        '  File "/home/x/fit.py", line 310, in <module>',
        "    save(state)",
        f"{api} ranks:dict_keys([{listed}])",
    ]
    for rank in told:
        lines += [
            f"Traceback (most recent call last): (RANK {rank})",
            '  File "/home/x/plan.py", line 31, in write',
            "    pickle.dumps(state)",
            "TypeError: cannot pickle 'module' object",
            "",
        ]
    return [f"[rank{printer}]: {line}" for line in lines]


@pytest.mark.parametrize(
    ("listed", "told", "named"),
    [("2", (2,), {2}), ("1", (1,), {1}), ("0, 1, 2, 3, 4, 5, 6, 7", (0,), set())],
    ids=["one", "another", "all, and the rest is lost"],
)
def test_an_error_that_all_print_and_one_raised(
    listed: str, told: tuple[int, ...], named: set[int], tmp_path: Path
) -> None:
    lines = [line for rank in range(8) for line in gathered(rank, listed, *told)]
    found = judged(tmp_path, "step 9 loss 2.1", *lines)
    assert found.cause is Cause.RANK_EXCEPTION
    assert found.culprits == named


def test_a_barrier_that_a_service_gave_up_is_nobodys_own_error(tmp_path: Path) -> None:
    task = "/job:jax_worker/replica:0/task:{n}"
    found = judged(
        tmp_path,
        "Traceback (most recent call last):",
        '  File "/home/x/fit.py", line 75, in sync',
        '    client.wait_at_barrier("start", timeout_in_ms=200000)',
        "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: "
        "start. Timed out task names:",
        task.format(n=3),
        task.format(n=0),
        "",
    )
    assert found.cause is None
    assert found.culprits == {0, 3}


@pytest.mark.parametrize(("killed", "named"), [((1,), {1}), ((0, 1), set())])
def test_a_shell_repeats_the_kill_of_a_rank(
    killed: tuple[int, ...], named: set[int], tmp_path: Path
) -> None:
    """Lightning ends its own process with the others, and the shell says so."""
    ends = [
        f"[rank: {rank}] Child process with PID 418{rank} terminated with code -9. Forcefully "
        "terminating all other processes to avoid zombies"
        for rank in killed
    ]
    members = [f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/2" for r in (0, 1)]
    found = judged(tmp_path, *members, "step 9 loss 2.1", *ends, "Killed")
    assert found.culprits == named


@pytest.mark.parametrize(("table", "named"), [((0,), {0}), ((0, 1), set())])
def test_a_loader_of_the_only_process_that_an_agent_tells_of(
    table: tuple[int, ...], named: set[int], tmp_path: Path
) -> None:
    killed = "RuntimeError: DataLoader worker (pid 25173) is killed by signal: Killed. "
    found = judged(
        tmp_path,
        "step 9 loss 2.1",
        "Traceback (most recent call last):",
        '  File "fit.py", line 192, in <module>',
        "    for batch in loader:",
        killed,
        *table_of("gx1", "10:46:02", *table),
    )
    assert found.cause is Cause.HOST_OOM
    assert found.culprits == named


def _gave_up(rank: int, sizes: str) -> str:
    return (
        f"[rank{rank}]:[E907 11:40:01.52932782{rank} ProcessGroupNCCL.cpp:683] [Rank {rank}] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=58, OpType=COALESCED, "
        f"{sizes}, Timeout(ms)=600000) ran for 600034 milliseconds before timing out."
    )


@pytest.mark.parametrize(
    ("sizes", "named"),
    [("NumelIn=16384, NumelOut=65536", {0}), ("NumelIn=16384, NumelOut=16384", set())],
    ids=["a gather by its sizes", "perhaps messages between two"],
)
def test_coalesced_calls(sizes: str, named: set[int], tmp_path: Path) -> None:
    lines = [_gave_up(rank, sizes) for rank in (1, 2, 3)]
    assert judged(tmp_path, "world size: 4", *lines).culprits == named


def test_a_file_for_each_rank_of_the_job(tmp_path: Path) -> None:
    """What nobody signed in a file in which one rank speaks is that rank's."""
    compiled = "SingleProcess AUTOTUNE benchmarking takes 6.6 seconds and 31.5 seconds precompiling"
    lost = (
        "[rank1]:[W907 11:40:02.309709853 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl("
        "fd=67, addr=[b]:36214, remote=[a]:29500): Failed to recv, got 0 bytes."
    )
    gave_up = _gave_up(0, "NumelIn=16384, NumelOut=8192").replace(
        "COALESCED", "_REDUCE_SCATTER_BASE"
    )
    (tmp_path / "a.log").write_text(f"world size: 2\n{gave_up}\n")
    (tmp_path / "b.log").write_text("\n".join([*[compiled] * 4, lost, ""]))
    found = unhang.diagnose(str(tmp_path))
    assert found.cause is Cause.COMPILE_SLOW
    assert found.culprits == {1}


@pytest.mark.parametrize(
    ("words", "cause", "named"),
    [
        (
            "ERROR:  One or more process (first noticed rank 3) terminated with signal 11"
            " (core dumped)",
            Cause.RANK_CRASH,
            {3},
        ),
        (
            "ERROR    2026-07-01 10:31:00,100 1122  engine.py[line:701] worker process rank 3 exit"
            " with code -11, engine shutting down",
            Cause.RANK_CRASH,
            {3},
        ),
        (
            "flux-job: 2X exception: type=timeout severity=0 note=resource allocation expired",
            Cause.EXTERNAL_STOP,
            set(),
        ),
        ("lightning.fabric.utilities.exceptions.SIGTERMException", Cause.EXTERNAL_STOP, set()),
        (
            "E0000 00:00:1773425114.221877 4412 coordination_service_agent.cc:369] Failed to"
            " connect to coordination service with error: DEADLINE_EXCEEDED: Deadline Exceeded",
            Cause.RENDEZVOUS,
            set(),
        ),
    ],
    ids=["jsrun", "a column of pids", "flux", "lightning", "jax"],
)
def test_last_words_of_launchers(words: str, cause: Cause, named: set[int], tmp_path: Path) -> None:
    steps = [f"step {n}/900 loss 2.{n}" for n in range(1, 9)]
    found = judged(tmp_path, *(steps if cause is not Cause.RENDEZVOUS else ()), words)
    assert found.cause is cause
    assert found.culprits == named


def test_a_peer_s_state_is_nobody_s_own_exception(tmp_path: Path) -> None:
    lost = (
        "Traceback (most recent call last):",
        '  File "train.py", line 40, in <module>',
        "    model.fit(ds)",
        "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted by:"
        " Connection reset by peer",
    )
    assert judged(tmp_path, *lost).cause is not Cause.RANK_EXCEPTION


@pytest.mark.parametrize(
    ("place", "cause"),
    [("/w/model.py", Cause.EXTERNAL_STOP), ("/usr/lib/python3.11/queue.py", None)],
    ids=["at work", "in a wait"],
)
def test_where_an_interrupt_finds_a_rank(place: str, cause: Cause | None, tmp_path: Path) -> None:
    steps = [f"step {n}/900 loss 2.{n}" for n in range(1, 9)]
    hit = ("^C", "Traceback (most recent call last):", f'  File "{place}", line 30, in f')
    assert judged(tmp_path, *steps, *hit, "KeyboardInterrupt").cause is cause


def test_a_rank_that_speaks_and_does_not_wait(tmp_path: Path) -> None:
    """Its number is above those of all that gave up; what it says counts it."""
    spoke = "[rank3]: lr 1e-4 step 77/900 loss 2.1"
    gave_up = [
        _gave_up(r, "NumelIn=1, NumelOut=1").replace("COALESCED", "ALLREDUCE") for r in (0, 1, 2)
    ]
    assert judged(tmp_path, spoke, *gave_up).culprits == {3}
    assert judged(tmp_path, *gave_up).culprits == frozenset()


def test_what_is_printed_while_all_but_one_wait(tmp_path: Path) -> None:
    """It has no rank and no clock: only the one that does not wait can print then."""
    step = "2026-09-07 11:30:01,{n:03d} - INFO - step: 2690/9000 loss: 3.76"
    retry = (
        "'(ReadTimeoutError(\"Read timed out.\"))' thrown while requesting GET "
        "https://huggingface.co/datasets/allenai/c4/resolve/main/en/c4.json.gz"
    )
    gave_up = [_gave_up(r, "NumelIn=8, NumelOut=32") for r in (0, 1, 2)]
    gave_up = [line.replace("COALESCED", "_ALLGATHER_BASE") for line in gave_up]
    lines = ["world size: 4", *(step.format(n=n) for n in range(8)), retry, *gave_up]
    found = judged(tmp_path, *lines)
    assert found.cause is Cause.DATA_SLOW
    assert found.culprits == {3}
    early = [
        "world size: 4",
        retry.replace("'(Read", "2026-09-07 11:00:00,1 - WARN - '(Read"),
        *lines[1:9],
    ]
    assert judged(tmp_path, *early, *gave_up).cause is not Cause.DATA_SLOW


def test_a_kernel_s_word_beside_a_gpu_that_failed(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        "step 1/9 loss 2.0\nRuntimeError: CUDA error: unspecified launch failure\n"
    )
    assert unhang.diagnose(str(tmp_path)).cause is Cause.GPU_KERNEL_FAULT
    xid = "NVRM: Xid (PCI:0000:17:00): 79, pid=5123, name=python, GPU has fallen off the bus."
    (tmp_path / "dmesg.txt").write_text(
        f"[   12.400000] docker0: entered blocking\n[  99.0] {xid}\n"
    )
    assert unhang.diagnose(str(tmp_path)).cause is Cause.GPU_HARDWARE


def test_a_pod_that_the_cluster_stopped(tmp_path: Path) -> None:
    pods = [f"[pod/j-worker-{n}/pytorch] RANK={n} WORLD_SIZE=3" for n in range(3)]
    lost = (
        "[pod/j-worker-{n}/pytorch] RuntimeError: "
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:589] Connection closed by peer "
        "[10.0.0.{n}]:31000"
    )
    lines = [*pods, *(lost.format(n=n) for n in (0, 1))]
    assert judged(tmp_path, *lines).culprits == {2}
    (tmp_path / "events.txt").write_text(
        "LAST SEEN   TYPE     REASON    OBJECT             MESSAGE\n"
        "2m02s       Normal   Killing   pod/j-worker-2     Stopping container pytorch\n"
    )
    found = unhang.diagnose(str(tmp_path))
    assert (found.cause, found.culprits) == (Cause.EXTERNAL_STOP, frozenset({2}))


@pytest.mark.parametrize("steps", [0, 20])
def test_what_a_program_logs_ends_no_actor(steps: int, tmp_path: Path) -> None:
    """Ray catches what an actor raises: a process that it lost died of something else."""
    errors = [f"[tool {n}] ValueError: no such city, asking again" for n in range(6)]
    worked = [f"[rank0] step {n}/900 loss 2.{n}" for n in range(40, 40 + steps)]
    died = (
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tpid: 31502\n\tname: pQ7w2mWorkerDict_0:1\n\tip: 10.21.4.77",
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR",
    )
    found = judged(tmp_path, *errors, *worked, *died)
    assert found.cause is None
    assert found.culprits <= {1}


@pytest.mark.parametrize(
    ("where", "cause"), [("kit.eval.perplexity", Cause.EVAL_SLOW), ("kit.quant.blocks", None)]
)
def test_what_a_module_logs_last(where: str, cause: Cause | None, tmp_path: Path) -> None:
    """The place of the code tells the kind of work in any words."""
    gave_up = [_gave_up(r, "NumelIn=1, NumelOut=1") for r in (1, 2, 3)]
    gave_up = [line.replace("COALESCED", "ALLREDUCE") for line in gave_up]
    line = f"2026-09-07 11:29:58.364 | INFO     | {where}:run:25 - index : 0/70"
    found = judged(tmp_path, "world size: 4", line, *gave_up)
    assert found.cause is cause
    assert found.culprits == {0}


OUT_OF_MEMORY = (
    "[host2] XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 128849 bytes."
)


def unhealthy(reporter: int, *tasks: int) -> tuple[str, ...]:
    head = (
        f"[host{reporter}] F0929 17:42:48.594200 1044 client.h:77] Terminating process because the"
        " JAX distributed service detected fatal errors. UNAVAILABLE: The following tasks are"
        " unhealthy (stopped sending heartbeats):"
    )
    return head, *(f"[host{reporter}] /job:jax_worker/replica:0/task:{task}" for task in tasks)


def test_the_one_that_all_others_miss(tmp_path: Path) -> None:
    found = judged(tmp_path, OUT_OF_MEMORY, *unhealthy(0, 2), *unhealthy(1, 2))
    assert found.cause is Cause.GPU_OOM
    assert found.culprits == {2}
    both = judged(tmp_path, OUT_OF_MEMORY, *unhealthy(0, 2), *unhealthy(1, 0, 2))
    assert both.culprits == frozenset()
