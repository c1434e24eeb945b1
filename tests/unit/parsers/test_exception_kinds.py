"""What an exception means for the job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.model.events import ExceptionKind as K
from unhang.model.events import Frame
from unhang.parsers.vocabulary.exceptions import classify_exception

C10D = Frame(
    file="/v/site-packages/torch/distributed/distributed_c10d.py", line=1, function="barrier"
)
USER = Frame(file="/srv/job/train.py", line=1, function="main")


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("ValueError", "bad", K.USER),
        ("RuntimeError", "CUDA out of memory. Tried to allocate 2.00 GiB", K.GPU_OOM),
        ("RuntimeError", "CUDA error: out of memory", K.GPU_OOM),
        ("OutOfMemoryError", "", K.GPU_OOM),
        (
            "OutOfMemoryError",
            "Task was killed due to the node running low on memory",
            K.HOST_MEMORY,
        ),
        ("RuntimeError", "[enforce fail at alloc_cpu.cpp] can't allocate memory", K.HOST_MEMORY),
        ("OSError", "[Errno 12] Cannot allocate memory", K.HOST_MEMORY),
        ("RuntimeError", "CUDA error: an illegal memory access was encountered", K.CUDA),
        ("RuntimeError", "x backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)", K.CUDA),
        ("RuntimeError", "synLaunch failed with synStatus 26 [Generic failure].", K.CUDA),
        ("RuntimeError", "EZ9999: Inner Error! The error from device(2)", K.CUDA),
        ("RuntimeError", "EJ0002: [PID: 7] 2026-07-15 The network port is down.", K.COLLECTIVE),
        ("RuntimeError", "EI0013: an error CQE occurred", K.COLLECTIVE),
        ("RuntimeError", "FATAL ERROR :: Allocation failed for size::939524096 (896)MB", K.GPU_OOM),
        ("RuntimeError", "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", K.GPU_OOM),
        ("RuntimeError", "not enough NPU memory for the cache", K.GPU_OOM),
        ("ValueError", "bad digest ee1002 of shard 3", K.USER),
        ("ResourceExhaustedError", "OOM when allocating tensor with shape[64]", K.GPU_OOM),
        ("ResourceExhaustedError", "OOM when allocating tensor by allocator mklcpu", K.USER),
        ("RuntimeError", "RPCErr:1:RPC ran for more than set timeout (180000 ms)", K.COLLECTIVE),
        ("RuntimeError", "Bad StatusOr access: UNAVAILABLE: slice is lost", K.COLLECTIVE),
        ("RuntimeError", "a.cc:36 : Failed to meet rendezvous 'save': gone (4)", K.COLLECTIVE),
        ("DistBackendError", "NCCL error in: x.cpp:1970, unhandled system error", K.COLLECTIVE),
        ("RuntimeError", "NCCL communicator was aborted on rank 3.", K.COLLECTIVE),
        ("RuntimeError", "ncclCommInitRank failed: unhandled system error", K.COLLECTIVE),
        (
            "RuntimeError",
            "[/w/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.7]:28397",
            K.COLLECTIVE,
        ),
        ("BrokenPipeError", "[Errno 32] Broken pipe", K.COLLECTIVE),
        (
            "DistBackendError",
            "[5] is setting up NCCL communicator and retrieving ncclUniqueId",
            K.RENDEZVOUS,
        ),
        ("DistStoreError", "Timed out after 601 seconds waiting for clients. 3/4", K.RENDEZVOUS),
        ("RuntimeError", "Detected mismatch between collectives on ranks.", K.MISMATCH),
        ("RuntimeError", "Expected to have finished reduction in the prior iteration", K.MISMATCH),
        ("AssertionError", "{'id': 7, 'status': 'INFLIGHT', 'numel': 64}", K.MISMATCH),
        (
            "FloatingPointError",
            "Fatal error: gradients are inconsistent between workers.",
            K.MISMATCH,
        ),
        ("Exception", "usually means that the workers have fallen out of sync somehow", K.MISMATCH),
        ("DeadlockDetectedException", "DeadLock detected from rank: 3", K.COLLECTIVE),
        ("RuntimeError", "cancelled", K.COLLECTIVE),
        ("EOFError", "", K.COLLECTIVE),
        ("EOFError", "Ran out of input", K.USER),
        ("RuntimeError", "CUDA driver initialization failed, you might not have a GPU.", K.CUDA),
        ("RuntimeError", "The read was cancelled.", K.COLLECTIVE),
        ("RuntimeError", "cancelled order 7 has no price", K.USER),
        ("ChildFailedError", "", K.CHILD),
        ("RayTaskError", "ray::f()", K.CHILD),
        ("CalledProcessError", "Command 'x' returned non-zero exit status 1.", K.CHILD),
        ("ValueError", "Error for Training job x: Failed. Reason: Exit Code: 139", K.CHILD),
        ("ValueError", "the exit code 139 of a training job is not known", K.USER),
        ("RuntimeError", "Engine core initialization failed. See root cause above.", K.CHILD),
        ("RuntimeError", "DataLoader worker (pid 7) is killed by signal: Bus error.", K.WORKER),
        ("RuntimeError", "DataLoader worker (pid(s) 7, 8) exited unexpectedly", K.WORKER),
        ("RuntimeError", "One or more background workers are no longer alive.", K.HELPER),
        ("RuntimeError", "Child process 4711 exited unexpectedly", K.HELPER),
        ("KeyError", "'worker_process_count' is missing", K.USER),
        ("BrokenProcessPool", "", K.CHILD),
        ("KeyboardInterrupt", "", K.INTERRUPTED),
        ("SignalException", "Process 7 got signal: 15", K.TERMINATED),
        ("SystemExit", "1", K.EXIT),
        ("OSError", "[Errno 28] No space left on device", K.DISK_FULL),
        (
            "RuntimeError",
            "unable to write to file </torch_7_8>: No space left on device (28)",
            K.SHARED_MEMORY,
        ),
        ("ImportError", "libcudart.so.12: cannot open shared object file", K.LIBRARY),
        ("ImportError", "/v/x.so: undefined symbol: ncclCommWindowRegister", K.LIBRARY),
        ("ImportError", "libGL.so.1: cannot open shared object file", K.USER),
        ("ModuleNotFoundError", "No module named 'flash_attn'", K.USER),
        (
            "RuntimeError",
            "Unexpected error from cudaGetDeviceCount(). … Error 802: system not yet initialized",
            K.CUDA,
        ),
    ],
)
def test_by_name_and_text(name: str, message: str, kind: K) -> None:
    assert classify_exception(name, message, ()) is kind


def test_a_port_of_the_program_is_not_the_store_s() -> None:
    metrics = Frame(file="/v/site-packages/prometheus_client/exposition.py", line=1, function="x")
    taken = "[Errno 98] Address already in use"
    assert classify_exception("OSError", taken, (USER, metrics)) is K.USER
    assert classify_exception("RuntimeError", taken, (USER, C10D)) is K.RENDEZVOUS


def test_classes_and_words_of_torch_s_store_below_a_library() -> None:
    library = Frame(file="/v/site-packages/dgl/sparse_emb.py", line=1, function="__init__")
    waited = "wait timeout after 600000ms, keys: /default_pg/0"
    assert classify_exception("DistStoreError", "any words", (library,)) is K.RENDEZVOUS
    assert classify_exception("DistStoreError", waited, (library,)) is K.RENDEZVOUS
    assert classify_exception("RuntimeError", "Socket Timeout", (library,)) is K.RENDEZVOUS


def test_words_of_torch_need_no_frame_of_torch() -> None:
    late = "Timed out initializing process group in store based barrier on rank: 0, for key: k"
    assert classify_exception("RuntimeError", late, (USER,)) is K.RENDEZVOUS
    short = "Timed out after 1801 seconds waiting for clients. 3/4 clients joined."
    assert classify_exception("DistStoreError", short, (USER,)) is K.RENDEZVOUS


def test_a_channel_to_a_helper_breaks_when_its_other_side_is_gone() -> None:
    connection = Frame(
        file="/usr/lib/python3.11/multiprocessing/connection.py", line=1, function="_recv"
    )
    assert classify_exception("EOFError", "", (USER, connection)) is K.COLLECTIVE
    assert classify_exception("EOFError", "Ran out of input", (USER,)) is K.USER


def test_without_its_last_line_the_frames_decide() -> None:
    launcher = Frame(file="/v/site-packages/torch/distributed/run.py", line=1, function="main")
    assert classify_exception("", "", (USER,)) is K.USER
    assert classify_exception("", "", (USER, C10D)) is K.COLLECTIVE
    assert classify_exception("", "", (launcher,)) is K.CHILD
    gather = Frame(file="/srv/job/metrics.py", line=7, function="all_gather_objects")
    assert classify_exception("", "", (USER, gather, USER)) is K.COLLECTIVE


def test_whatever_the_elastic_rendezvous_raises_is_of_the_rendezvous() -> None:
    """Its back ends raise classes of their own; none of the program's code runs below it."""
    agent = "torch/distributed/elastic/rendezvous/dynamic_rendezvous.py"
    inside = (
        Frame(file=f"/v/site-packages/{agent}", line=1151, function="next_rendezvous"),
        Frame(file="/v/site-packages/etcd/client.py", line=582, function="read"),
    )
    assert classify_exception("EtcdKeyNotFound", "Key not found : /store", inside) is K.RENDEZVOUS
    assert classify_exception("EtcdKeyNotFound", "Key not found : /store", inside[1:]) is K.USER


_WHO = ("worker 2", "the engine core process", "child process 12", "Actor rollout_3", "a server")
_HOW = (
    "died unexpectedly",
    "is dead",
    "has crashed",
    "was killed",
    "exited with code -9",
    "is no longer alive",
)


@given(st.sampled_from(_WHO), st.sampled_from(_HOW))
def test_who_tells_of_a_death_is_not_the_one_that_died(who: str, how: str) -> None:
    told = classify_exception("RuntimeError", f"{who} {how}", ())
    assert told in (K.CHILD, K.HELPER)
    assert classify_exception("RuntimeError", f"{who} {how}: CUDA out of memory", ()) is K.GPU_OOM


@given(
    st.sampled_from(["Worker", "Actor", "Process", "Engine", "Node", "MyPoolWorker", "RpcActor"]),
    st.sampled_from(["Died", "Dead", "Lost", "Crashed"]),
    st.sampled_from(["", "Error", "Exception"]),
)
def test_classes_that_are_named_after_a_death(who: str, how: str, end: str) -> None:
    assert classify_exception(f"{who}{how}{end}", "3", ()) is K.CHILD


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ValueError", "dead neurons in layer 3"),
        ("RuntimeError", "node 3 failed the shape check"),
        ("ValueError", "worker count 3 is not a divisor of 8"),
        ("ProcessLookupError", "[Errno 3] No such process"),
        ("KeyError", "'worker'"),
        ("NodeError", "bad"),
    ],
)
def test_what_names_processes_and_no_death(name: str, message: str) -> None:
    assert classify_exception(name, message, ()) is K.USER


def test_a_device_that_was_waited_for_inside_a_collective() -> None:
    failed = "ACL stream synchronize failed."
    assert classify_exception("RuntimeError", failed, (USER, C10D)) is K.COLLECTIVE
    assert classify_exception("RuntimeError", failed, (USER,)) is K.USER
    assert classify_exception("RuntimeError", "Tensors must be contiguous", (USER, C10D)) is K.USER


MAKES_GROUP = Frame(
    file="/v/site-packages/torch/distributed/distributed_c10d.py",
    line=1,
    function="init_process_group",
)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ValueError", "Default process group has not been initialized, please make sure to call"),
        ("ValueError", "trying to initialize the default process group twice!"),
        ("RuntimeError", "Distributed package doesn't have NCCL built in"),
        ("ValueError", "Invalid backend: 'ncll'"),
        ("DistStoreError", "use_libuv was requested but PyTorch was build without libuv support"),
        ("TypeError", "Expected timeout argument to be of type datetime.timedelta"),
    ],
)
@pytest.mark.parametrize("frame", [C10D, MAKES_GROUP])
def test_misuse_of_torch_distributed_is_the_programs_own(
    name: str, message: str, frame: Frame
) -> None:
    assert classify_exception(name, message, [USER, frame]) is K.USER


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        (
            "SystemError",
            "(Fatal) Operator x raises an paddle::memory::allocation::BadAlloc",
            K.GPU_OOM,
        ),
        ("RuntimeError", "RESOURCE_EXHAUSTED: From /job:tpu_worker/replica:0/task:0:", K.GPU_OOM),
        ("FatalError", "`Termination signal` is detected by the operating system.", K.TERMINATED),
        ("FatalError", "`Segmentation fault` is detected by the operating system.", K.CHILD),
        ("FatalError", "`Segmentation` of the corpus failed", K.USER),
        ("RuntimeError", "RESOURCE_EXHAUSTED: quota of requests", K.USER),
    ],
)
def test_other_frameworks_words(name: str, message: str, kind: K) -> None:
    assert classify_exception(name, message, [USER]) is kind
