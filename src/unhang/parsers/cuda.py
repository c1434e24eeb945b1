"""From CUDA errors, wherever they are printed, to faults of a device.

Reads::

    torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.35 GiB. GPU 3 has a total
        capacity of 63.42 GiB of which 1.70 GiB is free. Process 41 has 58.00 GiB memory in use.
        Including non-PyTorch memory, this process has 4.30 GiB memory in use. …
    RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; …
    … watchdog thread terminated with exception: CUDA error: an illegal memory access was …
    …/IndexKernel.cu:92: operator(): block: [0,0,0], thread: [12,0,0] Assertion `…` failed.
    RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( … )`
    The NVIDIA driver on your system is too old (found version 11040).
    Unexpected error from cudaGetDeviceCount(). Did you … Error 802: system not yet initialized

Traps: "CUDA kernel errors might be asynchronously reported" and "Compile with `TORCH_USE_CUDA_DSA`"
are boilerplate; one failed assert is printed by every thread that met it; a CUDA error inside the
watchdog was raised by some kernel, not by NCCL; NCCL's own `Cuda failure` belongs to its warnings;
programs that try a smaller batch print the error and go on.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import DeviceFault, DeviceProblem, Event
from unhang.model.forms import named
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import cuda_errors
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/cuda.toml")
_OOM = _PATTERNS["oom"]
_ALLOCATION = _PATTERNS["allocation"]
_JAX_OOM = _PATTERNS["jax_oom"]
_OTHER_OOM = _PATTERNS["other_oom"]
_GPU = re.compile(r"GPU\s*(?P<device>\d{1,3})\b|device\s*:\s*(?P<other>\d{1,3})\b")
_PROCESS = _PATTERNS["process"]
_ALLOCATED = _PATTERNS["allocated"]
_UNITS = {"b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}

_ASSERTED = re.compile(r"Assertion\s{0,4}[`']?(?P<what>.{0,200}?)[`']?\s{0,4}failed")
_KERNEL = re.compile(r"[\w./\\:+@-]{0,400}\.(?:cu|cuh|h|hip|py):\d+|(?:block|thread)\s*:\s*\[")
_ERROR = _PATTERNS["error"]
_PLAIN = _PATTERNS["plain"]
_BOILERPLATE = _PATTERNS["boilerplate"]
_PROSE = re.compile(r"\b(?:may|might|could|can|avoid|prevent|if|when)\b", re.IGNORECASE)
_OURS = re.compile(r"NCCL\s*(?:WARN|INFO|error)|NVRM|Last\s*error")
_WATCHDOG = re.compile(r"watchdog\s*thread|ncclCommWatchdog", re.IGNORECASE)
_WARNED = _PATTERNS["warned"]
_KEPT_PER_PROBLEM = 4
_MESSAGE_LIMIT = 300


class CudaParser(LineParser, name="cuda"):
    """Parser of CUDA errors."""

    def __init__(self) -> None:
        self._said: dict[tuple[Origin, DeviceProblem, bool, bool], int] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the fault on this line, unless the same speaker has said it often enough."""
        if _OURS.search(line.text):
            return
        fault = _memory(line) or _asserted(line) or _error(line)
        if fault is None:
            return
        key = (fault.origin, fault.problem, fault.in_watchdog, fault.warning)
        self._said[key] = self._said.get(key, 0) + 1
        if self._said[key] <= _KEPT_PER_PROBLEM:
            yield fault


def _memory(line: Line) -> DeviceFault | None:
    """An allocation that failed, with who holds the memory."""
    found = line.says(_OOM) or line.says(_JAX_OOM, within=True)
    found = found or line.says(_OTHER_OOM, within=True)
    asked = _ALLOCATION.search(line.text)
    if found is None or _BOILERPLATE.search(line.text[: found.start()]):
        return None
    rest = line.text[found.start() :]
    device = _GPU.search(rest)
    number = None if device is None else device["device"] or device["other"]
    return DeviceFault(
        **place(line),
        problem=DeviceProblem.OUT_OF_MEMORY,
        device=None if number is None else int(number),
        asked_bytes=None if asked is None else _bytes(asked["size"], asked["unit"]),
        own_bytes=_own(rest),
        other_process_bytes=_of_others(rest),
        in_watchdog=_WATCHDOG.search(line.text) is not None,
        warning=_is_warning(line),
        message=rest[:_MESSAGE_LIMIT],
    )


def _is_warning(line: Line) -> bool:
    """Whether whoever printed it went on, by a word or by the level of the message."""
    below = line.header is not None and line.header.severity == "W"
    return below or _WARNED.search(line.text) is not None


def _held(text: str, *, own: bool) -> int | None:
    """Memory that this process, or the largest of the others, holds on the GPU."""
    return max(_sizes(text, own=own), default=None)


def _sizes(text: str, *, own: bool) -> list[int]:
    return [
        _bytes(match["size"], match["unit"])
        for match in _PROCESS.finditer(text)
        if match["who"].lower().startswith("this") is own
    ]


def _own(text: str) -> int | None:
    """Memory of the process itself: as it is told, else the least that its allocator leaves it."""
    told = _held(text, own=True)
    allocated = _ALLOCATED.search(text)
    if told is not None or allocated is None:
        return told
    least = _bytes(allocated["size"], allocated["unit"])
    return min((size for size in _sizes(text, own=False) if size >= least), default=None)


def _of_others(text: str) -> int | None:
    """Memory that is surely another process's.

    In a container the job's own process is told by its number on the host, so that a lone
    "Process N" may be this one; it is not where "this process" is told beside it. Among several,
    this one is the smallest that holds what PyTorch says that it has allocated.
    """
    others = _sizes(text, own=False)
    if _held(text, own=True) is None and others:
        own = _own(text)
        if own is None and len(others) == 1:
            return None
        if own is not None:
            others.remove(own)
    return max(others, default=None)


def _bytes(size: str, unit: str) -> int:
    return int(float(size) * (1 << _UNITS[unit[0].lower()]))


def _asserted(line: Line) -> DeviceFault | None:
    """A failed assert of a kernel; the same words of a C++ program on the host are not ours."""
    match = _ASSERTED.search(line.text)
    if match is None or "block" not in line.text or line.says(_KERNEL, within=True) is None:
        return None
    return DeviceFault(
        **place(line), problem=DeviceProblem.ASSERT, message=match["what"][:_MESSAGE_LIMIT]
    )


def _error(line: Line) -> DeviceFault | None:
    """Any other CUDA error."""
    for match in line.sayings(_ERROR, within=True):
        text = match["text"] or match["triton"] or match["symbol"] or match["library"]
        if text and not _BOILERPLATE.search(line.text[match.start() : match.end()]):
            return _fault(line, match[0])
    plain = line.says(_PLAIN, within=True)
    if plain is None or _PROSE.search(line.text[: plain.start()]):
        return None
    return _fault(line, line.text)


def _fault(line: Line, text: str) -> DeviceFault | None:
    problem, code = cuda_errors.classify(text)
    if problem is DeviceProblem.OTHER and code is None and not _SURE.search(text):
        return None
    return DeviceFault(
        **place(line),
        problem=problem,
        code=code,
        in_watchdog=_WATCHDOG.search(line.text) is not None,
        warning=_is_warning(line),
        message=text.strip()[:_MESSAGE_LIMIT],
    )


_SURE = re.compile(r"(?:CUDA|HIP)\s*(?:driver\s*|runtime\s*)?[Ee]rror\s*:\s*\w")
"""An unknown error is believed only in torch's own wording; else any prose would be one."""
