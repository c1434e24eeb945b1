"""From the name, text and frames of a Python exception to what it means for the job.

The order of the tests is the judgement: a text that names the deciding fact (out of memory, a
CUDA error, a mismatch between ranks) outranks the class it came in, because every layer wraps
errors in classes of its own. What is left over is the program's own failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unhang.model.events import ExceptionKind, Frame

_FLAGS = re.IGNORECASE

_BY_NAME = {
    "KeyboardInterrupt": ExceptionKind.INTERRUPTED,
    "SignalException": ExceptionKind.TERMINATED,
    "SystemExit": ExceptionKind.EXIT,
    "OutOfMemoryError": ExceptionKind.GPU_OOM,
    "MemoryError": ExceptionKind.HOST_MEMORY,
    "_ArrayMemoryError": ExceptionKind.HOST_MEMORY,
    "ArrayMemoryError": ExceptionKind.HOST_MEMORY,
    "ChildFailedError": ExceptionKind.CHILD,
    "ProcessRaisedException": ExceptionKind.CHILD,
    "ProcessExitedException": ExceptionKind.CHILD,
    "CalledProcessError": ExceptionKind.CHILD,
    "RayTaskError": ExceptionKind.CHILD,
    "RayActorError": ExceptionKind.CHILD,
    "ActorDiedError": ExceptionKind.CHILD,
    "ActorUnavailableError": ExceptionKind.CHILD,
    "WorkerCrashedError": ExceptionKind.CHILD,
    "NodeDiedError": ExceptionKind.CHILD,
    "LocalRayletDiedError": ExceptionKind.CHILD,
    "TrainingFailedError": ExceptionKind.CHILD,
    "TrainingWorkerError": ExceptionKind.CHILD,
    "WorkerGroupError": ExceptionKind.CHILD,
    "EngineDeadError": ExceptionKind.CHILD,
    "BrokenProcessPool": ExceptionKind.CHILD,
    "ActorHandleNotFoundError": ExceptionKind.CHILD,
    "AsyncEngineDeadError": ExceptionKind.CHILD,
    "MQEngineDeadError": ExceptionKind.CHILD,
    "RemoteTraceback": ExceptionKind.CHILD,
    "_RemoteTraceback": ExceptionKind.CHILD,
    "RendezvousTimeoutError": ExceptionKind.RENDEZVOUS,
    "RendezvousConnectionError": ExceptionKind.RENDEZVOUS,
    "RendezvousClosedError": ExceptionKind.RENDEZVOUS,
    "RendezvousStateError": ExceptionKind.RENDEZVOUS,
    "RendezvousGracefulExitError": ExceptionKind.RENDEZVOUS,
    "DistStoreError": ExceptionKind.RENDEZVOUS,
    "DistNetworkError": ExceptionKind.RENDEZVOUS,
    "DistBackendError": ExceptionKind.COLLECTIVE,
    "TimeoutError": ExceptionKind.COLLECTIVE,
    "GetTimeoutError": ExceptionKind.COLLECTIVE,
    "DeadlockDetectedException": ExceptionKind.COLLECTIVE,
    "BrokenPipeError": ExceptionKind.COLLECTIVE,
    "ConnectionResetError": ExceptionKind.COLLECTIVE,
    "ConnectionAbortedError": ExceptionKind.COLLECTIVE,
    "AcceleratorError": ExceptionKind.CUDA,
}
"""What a class name means when the text does not say more."""

_BY_TEXT: tuple[tuple[ExceptionKind, re.Pattern[str]], ...] = (
    (
        ExceptionKind.WORKER,
        re.compile(
            r"DataLoader worker \(pid(?:\(s\))?[^)]*\)\s*(?:exited|is killed)|DataLoader timed out",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.CHILD,
        re.compile(
            r"Engine core initialization failed|EngineCore encountered|"
            r"[Ss]ee (?:the )?(?:root cause|stack trace|error messages?|logs?) (?:above|for)|"
            r"Background loop has errored|Executor failed|[Ww]orker\w* (?:proc\w* )?(?:\S+ )?died|"
            r"[Ee]ngine (?:loop|process|core)\w* (?:has )?(?:died|failed)|"
            r"scheduler died|due to an exception in a background process"
        ),
    ),
    (
        ExceptionKind.HELPER,
        re.compile(
            r"(?:background|helper|child|worker|sub)[ -]?(?:worker|process)\w*\b.{0,40}?"
            r"(?:no longer alive|feet under|\bmissing\b|\bdead\b|died unexpectedly|"
            r"exited unexpectedly|terminated abruptly|was killed)",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.GPU_OOM,
        re.compile(
            r"(?:CUDA|HIP|NPU|XPU|MPS backend)\s*(?:error:\s*)?out of memory|"
            r"CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED.{0,80}(?:allocat|memory)|"
            r"GPU\s*\d*\s*has a total capacity",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.SHARED_MEMORY,
        re.compile(
            r"(?:out of|insufficient) shared memory|"
            r"/dev/shm.{0,200}No space left|No space left.{0,200}/dev/shm|"
            r"unable to (?:write to|allocate|resize|open|mmap).{0,120}</?torch_.{0,120}"
            r"No space left|"
            r"torch_shm_manager|posix_fallocate.{0,80}shm|No space left.{0,80}/psm_",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.HOST_MEMORY,
        re.compile(
            r"Cannot allocate memory|can't allocate memory|"
            r"Unable to allocate .{0,60}for an array|std::bad_alloc|"
            r"node running low on memory|Host out of memory",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.DISK_FULL,
        re.compile(
            r"No space left on device|Disk quota exceeded|\bENOSPC\b|\bEDQUOT\b|"
            r"PytorchStreamWriter failed writing|enforce fail at inline_container\.cc.{0,60}"
            r"unexpected pos",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.MISMATCH,
        re.compile(
            r"Detected mismatch between collectives|inconsistent collective|"
            r"Expected to have finished reduction|DDP expects same model|"
            r"marked (?:as )?ready twice|"
            r"verif\w+ that all processes? (?:have|has) the same|"
            r"appears not to match (?:sizes|strides) of the same param|"
            r"disagreement between rank|still have inflight params|tracing error at step|"
            r"'status': 'INFLIGHT'|gradients are inconsistent between workers|"
            r"workers have fallen out of sync",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.RENDEZVOUS,
        re.compile(
            r"retrieving\s*ncclUniqueId|store\s*->\s*get\(|^Socket Timeout|"
            r"waiting for clients|client socket has (?:timed out|failed to connect)|"
            r"connect\(\) timed out|server socket has failed to|EADDRINUSE|"
            r"Address already in use|store[- ]based barrier|wait timeout after \d+\s*ms|"
            r"Default process group has not been initialized|"
            r"environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK)|"
            r"Error initializing torch\.distributed|connection to the C10d store has failed|"
            r"failed to connect/validate|trying to initialize the default process group twice",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.COLLECTIVE,
        re.compile(
            r"NCCL\s*(?:error|communicator was aborted)|\bnccl(?:System|Internal|Remote|"
            r"InvalidUsage|InvalidArgument|UnhandledCuda)\w*|\bHCCL\b|"
            r"gloo/|Gloo\s*connectFullMesh|Connection closed by peer|"
            r"Timed out waiting \d+ms for (?:recv|send)|monitored\s*Barrier|"
            r"Watchdog caught collective|collective operation timeout|"
            r"timed out in (?:call to wait|blocking wait)|Application timeout caused pair|"
            r"Connection reset by peer|Broken pipe|got 0 bytes|"
            r"remote server shut\s*down or crash|^Connection refused",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.CUDA,
        re.compile(
            r"CUDA (?:driver )?error|cu(?:BLAS|DNN|SPARSE|SOLVER|FFT)\s*error|"
            r"CU(?:BLAS|DNN|SPARSE|SOLVER|FFT)_STATUS_|HIP error|cudaGetDeviceCount|"
            r"device-side assert|No CUDA GPUs are available|"
            r"Found no NVIDIA driver|invalid device ordinal",
            _FLAGS,
        ),
    ),
    (
        ExceptionKind.TERMINATED,
        re.compile(r"got signal: (?:15|1|2)\b|received signal 15|^SIGTERM\b", _FLAGS),
    ),
    (
        ExceptionKind.LIBRARY,
        re.compile(
            r"undefined symbol|version `[A-Z_]+_[\d.]+' not found|"
            r"\blib(?:cu|nccl|nv|c10|torch)\w*\.so\S*\s*cannot open shared object file",
            _FLAGS,
        ),
    ),
)
"""Texts that decide whatever class carries them, in this order."""

_SAID_BY_TORCH = re.compile(
    r"waiting for clients|store[- ]based barrier|ncclUniqueId|server socket has failed to|"
    r"client socket has|(?:default )?process group|torch\.distributed|C10d store|"
    r"environment variable [A-Z_]+ expected",
    _FLAGS,
)
"""Wordings of a rendezvous that no other program uses."""

_PLUMBING = re.compile(
    r"multiprocessing/(?:connection|resource_sharer|managers|spawn|reduction|queues)\.py"
    r"|torch/multiprocessing/(?:reductions|queue)\.py"
    r"|utils/data/_utils/pin_memory\.py"
)
"""Channels between a process and its helpers: they break when the other side is gone."""

_SHARED = re.compile(
    r"multiprocessing/(?:synchronize|heap|shared_memory|reductions)\.py|torch/storage\.py"
)
_BROKEN_CHANNEL = frozenset(
    {"EOFError", "ConnectionRefusedError", "FileNotFoundError", "OSError", "UnpicklingError"}
)

_WAITS = re.compile(r"torch/distributed/|torch/nn/parallel/distributed\.py|deepspeed/comm/\w+\.py")
_COLLECTIVES = re.compile(
    r"^_?(?:all_?reduce|all_?gather|all_?to_?all|broadcast|reduce_?scatter|barrier|gather|scatter|"
    r"wait_for_everyone|synchronize|isend|irecv|batch_isend_irecv|new_group|init_process_group)"
    r"(?:_\w+)?$"
)
_INNERMOST = 3
_MAY_WAIT = re.compile(r"site-packages/(?:torch|deepspeed|accelerate|megatron|lightning\w*)/")
"""Libraries that communicate: a traceback that is cut inside them may end in a wait."""

_LAUNCHER = re.compile(
    r"torch/distributed/(?:run|launch|launcher/\w+)\.py|accelerate/commands/|"
    r"deepspeed/launcher/|torch/multiprocessing/spawn\.py"
)


def classify_exception(exception: str, message: str, frames: Sequence[Frame]) -> ExceptionKind:
    """Say what an exception means for the job.

    Args:
        exception: class name without modules; "" where the last line is lost.
        message: its text.
        frames: outermost first.
    """
    for kind, pattern in _BY_TEXT:
        if pattern.search(message):
            return _by_place(kind, message, frames)
    if exception in _BY_NAME:
        return _BY_NAME[exception]
    if exception in _BROKEN_CHANNEL and frames and _PLUMBING.search(frames[-1].file):
        return ExceptionKind.COLLECTIVE
    if exception == "":
        return _from_frames(frames)
    return ExceptionKind.USER


def _by_place(kind: ExceptionKind, message: str, frames: Sequence[Frame]) -> ExceptionKind:
    """What a text means, corrected by where it was raised.

    `Address already in use` is a rendezvous only where the rendezvous raised it: a web server of
    the program (a metrics port, a dashboard) must not pass for the store; words that only torch
    says need no such proof. The file system that is full below a semaphore or a shared queue is
    `/dev/shm`. Without frames the text is all there is.
    """
    if kind is ExceptionKind.DISK_FULL and frames and _SHARED.search(frames[-1].file):
        return ExceptionKind.SHARED_MEMORY
    if kind is not ExceptionKind.RENDEZVOUS or not frames or _SAID_BY_TORCH.search(message):
        return kind
    inner = frames[-4:]
    if any("/torch/" in f.file or "torch\\" in f.file for f in inner):
        return kind
    return (
        kind
        if any(_WAITS.search(f.file) or "deepspeed" in f.file for f in frames)
        else (ExceptionKind.USER)
    )


def _from_frames(frames: Sequence[Frame]) -> ExceptionKind:
    """The last line is lost: where the code stood tells a wait from a failure of its own."""
    if not frames:
        return ExceptionKind.USER
    if _LAUNCHER.search(frames[-1].file):
        return ExceptionKind.CHILD
    if _MAY_WAIT.search(frames[-1].file) or any(map(_communicates, frames[-_INNERMOST:])):
        return ExceptionKind.COLLECTIVE
    return ExceptionKind.USER


def _communicates(frame: Frame) -> bool:
    """Whether the code of a frame waits for other ranks."""
    return _WAITS.search(frame.file) is not None or _COLLECTIVES.match(frame.function) is not None
