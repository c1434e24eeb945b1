"""From the text of a CUDA error to what it means: code, symbol and sentence all count.

The same error is written as `CUDA error: an illegal memory access was encountered`, as
`Cuda failure 700 'an illegal …'`, as `cudaErrorIllegalAddress` and as `CUDA_ERROR_ILLEGAL_ADDRESS`;
ROCm writes `HIP error: …`. The sentence is the most reliable: numbers changed before CUDA 10.1.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from unhang.model.events import DeviceProblem

_P = DeviceProblem


class CudaError(NamedTuple):
    """A classified CUDA error; `code` is None where no number is printed."""

    problem: DeviceProblem
    code: int | None


_TEXTS: tuple[tuple[DeviceProblem, tuple[str, ...]], ...] = (
    (_P.OUT_OF_MEMORY, ("out of memory", "MemoryAllocation", "RESOURCE_EXHAUSTED")),
    (_P.ILLEGAL_ACCESS, ("illegal memory access", "IllegalAddress", "ILLEGAL_ADDRESS")),
    (_P.ILLEGAL_ACCESS, ("Memory access fault by GPU",)),
    (_P.ILLEGAL_ACCESS, ("misaligned address", "MisalignedAddress", "MISALIGNED_ADDRESS")),
    (_P.ILLEGAL_ACCESS, ("illegal instruction was encountered", "IllegalInstruction")),
    (_P.ILLEGAL_ACCESS, ("operation not supported on global/shared address space",)),
    (_P.ILLEGAL_ACCESS, ("invalid program counter", "InvalidPc", "hardware stack error")),
    (_P.ASSERT, ("device-side assert", "device assert triggered", "ErrorAssert", "ERROR_ASSERT")),
    (_P.ECC, ("uncorrectable ECC error", "ECCUncorrectable", "ECC_UNCORRECTABLE")),
    (_P.NVLINK, ("uncorrectable NVLink", "NvlinkUncorrectable", "NVLINK_UNCORRECTABLE")),
    (_P.NVLINK, ("peer GPU memory over nvlink", "CUDA_ERROR_CONTAINED", "cudaErrorContained")),
    (_P.FELL_OFF, ("fallen off the bus", "GPU is lost", "GPU_IS_LOST", "GPU requires reset")),
    (_P.FELL_OFF, ("determine the device handle",)),
    (_P.LAUNCH_FAILURE, ("HW Exception by GPU",)),
    (_P.LAUNCH_FAILURE, ("unspecified launch failure", "LaunchFailure", "LAUNCH_FAILED")),
    (_P.LAUNCH_FAILURE, ("launch timed out and was terminated", "LaunchTimeout")),
    (_P.FABRIC, ("system not yet initialized", "SystemNotReady", "SYSTEM_NOT_READY")),
    (_P.DRIVER, ("driver version is insufficient", "InsufficientDriver", "driver on your system")),
    (_P.DRIVER, ("unsupported display driver", "SystemDriverMismatch", "SYSTEM_DRIVER_MISMATCH")),
    (_P.DRIVER, ("forward compatibility was attempted", "CompatNotSupportedOnDevice")),
    (_P.DRIVER, ("unsupported toolchain", "UnsupportedPtxVersion", "UNSUPPORTED_PTX_VERSION")),
    (_P.DRIVER, ("not supported in the installed CUDA driver", "library version mismatch")),
    (_P.DRIVER, ("named symbol not found",)),
    (_P.NO_KERNEL, ("no kernel image", "NoKernelImageForDevice", "NO_BINARY_FOR_GPU")),
    (_P.NO_KERNEL, ("invalid device function", "InvalidDeviceFunction", "invalid kernel image")),
    (_P.NO_KERNEL, ("is not compatible with the current PyTorch installation",)),
    (_P.BAD_ORDINAL, ("invalid device ordinal", "ErrorInvalidDevice", "ERROR_INVALID_DEVICE")),
    (_P.BUSY, ("busy or unavailable", "DevicesUnavailable", "DeviceAlreadyInUse")),
    (_P.PEER, ("peer access", "PeerAccess", "peer mapping resources", "mapping of buffer object")),
    (_P.CUBLAS, ("CUBLAS_STATUS", "CUDNN_STATUS", "CUSPARSE_STATUS", "CUSOLVER_STATUS")),
)
"""By sentence or symbol, first hit wins."""

_CODES: dict[int, DeviceProblem] = {
    2: _P.OUT_OF_MEMORY,
    35: _P.DRIVER,
    46: _P.BUSY,
    98: _P.NO_KERNEL,
    101: _P.BAD_ORDINAL,
    205: _P.PEER,
    209: _P.NO_KERNEL,
    214: _P.ECC,
    217: _P.PEER,
    220: _P.NVLINK,
    222: _P.DRIVER,
    226: _P.NVLINK,
    700: _P.ILLEGAL_ACCESS,
    702: _P.LAUNCH_FAILURE,
    704: _P.PEER,
    705: _P.PEER,
    710: _P.ASSERT,
    711: _P.PEER,
    714: _P.ILLEGAL_ACCESS,
    715: _P.ILLEGAL_ACCESS,
    716: _P.ILLEGAL_ACCESS,
    717: _P.ILLEGAL_ACCESS,
    718: _P.ILLEGAL_ACCESS,
    719: _P.LAUNCH_FAILURE,
    802: _P.FABRIC,
    803: _P.DRIVER,
    804: _P.DRIVER,
}
"""Numbers of CUDA 10.1 and later, for texts that print nothing else."""

_CODE = re.compile(
    r"(?:[Cc]uda\s*failure|(?:CUDA|HIP)\s*(?:driver\s*|runtime\s*)?[Ee]rror|"
    r"[Ee]rror\s*code|[Ee]rror)\s*[:(]?\s*(?P<code>\d{1,3})\b"
)


def classify(text: str) -> CudaError:
    """Say what a CUDA error means; `OTHER` when nothing in the text tells more.

    >>> classify("Cuda failure 700 'an illegal memory access was encountered'").problem.value
    'illegal-access'
    >>> classify("CUDA driver error: 802").code
    802
    """
    match = _CODE.search(text)
    code = None if match is None else int(match["code"])
    squeezed = _squeeze(text)
    for problem, needles in _SQUEEZED:
        if any(needle in squeezed for needle in needles):
            return CudaError(problem, code)
    return CudaError(_CODES.get(code, _P.OTHER) if code is not None else _P.OTHER, code)


def _squeeze(text: str) -> str:
    """Without blanks and case: a message may be wrapped inside words."""
    return "".join(text.split()).lower()


_SQUEEZED: tuple[tuple[DeviceProblem, tuple[str, ...]], ...] = tuple(
    (problem, tuple(_squeeze(needle) for needle in needles)) for problem, needles in _TEXTS
)
