"""Asks NVML of one GPU, fact by fact, in a process of its own: any call may hang for good.

Started as `python gpus_child.py INDEX`. Prints the form of `nvidia-smi -q`; before each call a line
`# asking CALL`. A fact that this GPU does not have is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast

import pynvml as nvml

_Gpu = object
"""NVML's handle."""


class _Process(Protocol):
    pid: int
    usedGpuMemory: int | None  # noqa: N815 (NVML's name)


_FACTS: tuple[tuple[str, Callable[[_Gpu], object]], ...] = (
    ("Product Name", nvml.nvmlDeviceGetName),
    ("VBIOS", nvml.nvmlDeviceGetVbiosVersion),
    ("GPU UUID", nvml.nvmlDeviceGetUUID),
    ("Persistence Mode", nvml.nvmlDeviceGetPersistenceMode),
    ("Performance State", nvml.nvmlDeviceGetPerformanceState),
    ("Temperature C", lambda gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)),
    ("Power mW", nvml.nvmlDeviceGetPowerUsage),
    ("SM Clock MHz", lambda gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM)),
    ("Max SM Clock MHz", lambda gpu: nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM)),
    ("Memory Used bytes", lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used),
    ("Memory Total bytes", lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total),
    ("Utilization GPU %", lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
    ("PCIe Generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration),
    ("PCIe Generation Max", nvml.nvmlDeviceGetMaxPcieLinkGeneration),
    ("PCIe Width", nvml.nvmlDeviceGetCurrPcieLinkWidth),
    ("PCIe Width Max", nvml.nvmlDeviceGetMaxPcieLinkWidth),
    ("MIG Mode", lambda gpu: nvml.nvmlDeviceGetMigMode(gpu)[0]),
    ("PCIe Replays", nvml.nvmlDeviceGetPcieReplayCounter),
)
_REASONS = (
    ("HW Slowdown", 0x8),
    ("HW Thermal Slowdown", 0x40),
    ("HW Power Brake Slowdown", 0x80),
    ("SW Thermal Slowdown", 0x20),
    ("SW Power Cap", 0x4),
)
_LINKS = 18
_RECOVERY = {0: "None", 1: "Reset", 2: "Reboot", 3: "Drain P2P", 4: "Drain and Reset"}


def main(index: int) -> None:
    """Print all facts of the GPU of this index."""
    _asking("nvmlInit")
    nvml.nvmlInit()
    _asking("nvmlDeviceGetHandleByIndex")
    gpu = nvml.nvmlDeviceGetHandleByIndex(index)
    _say(f"Driver Version : {_text(_fact('driver version', nvml.nvmlSystemGetDriverVersion))}")
    _say(f"GPU {_text(_fact('PCI', lambda: nvml.nvmlDeviceGetPciInfo(gpu).busId))}")
    for name, call in _FACTS:
        value = _fact(name, partial(call, gpu))
        if value is not None:
            _say(f"    {name} : {_text(value)}")
    _errors(gpu)
    _recovery(gpu)
    _slowdowns(gpu)
    _links(gpu)
    _processes(gpu)


def _errors(gpu: _Gpu) -> None:
    """Volatile counts tell of this job; those of a GPU's whole life do not."""
    kind = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    counters = (("Volatile", nvml.NVML_VOLATILE_ECC), ("Aggregate", nvml.NVML_AGGREGATE_ECC))
    for title, counter in counters:
        ask = partial(nvml.nvmlDeviceGetTotalEccErrors, gpu, kind, counter)
        count = _fact(f"{title} ECC", ask)
        if count is not None:
            _say(f"    {title}\n        DRAM Uncorrectable : {count}")
    rows = _fact("remapped rows", partial(nvml.nvmlDeviceGetRemappedRows, gpu))
    if isinstance(rows, Sequence) and len(rows) == 4:
        _say(f"    Remapping Failure Occurred : {'Yes' if rows[3] else 'No'}")


def _recovery(gpu: _Gpu) -> None:
    """What the driver says must be done with the GPU (driver 570 and later)."""
    code = _fact("recovery action", lambda: _recovery_code(gpu))
    if isinstance(code, int):
        _say(f"    GPU Recovery Action : {_RECOVERY.get(code, code)}")


def _recovery_code(gpu: _Gpu) -> int | None:
    value = nvml.nvmlDeviceGetFieldValues(gpu, [nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
    return int(value.value.uiVal) if value.nvmlReturn == nvml.NVML_SUCCESS else None


def _slowdowns(gpu: _Gpu) -> None:
    mask = _fact("clock event reasons", lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu))
    if isinstance(mask, int):
        for name, bit in _REASONS:
            _say(f"    {name} : {'Active' if mask & bit else 'Not Active'}")


def _links(gpu: _Gpu) -> None:
    for link in range(_LINKS):
        state = _fact(f"NVLink {link}", partial(nvml.nvmlDeviceGetNvLinkState, gpu, link))
        if state is None:
            return
        _say(f"    NVLink {link} : {'Up' if state else 'Down'}")


def _processes(gpu: _Gpu) -> None:
    found = _fact("processes", partial(nvml.nvmlDeviceGetComputeRunningProcesses, gpu))
    for process in cast("list[_Process]", found or []):
        _say(f"    Process ID : {process.pid}")
        _say(f"        Used GPU Memory bytes : {process.usedGpuMemory}")


def _fact(name: str, call: Callable[[], object]) -> object:
    """What a call says; None where this GPU, driver or library does not have it."""
    _asking(name)
    try:
        return call()
    except (nvml.NVMLError, AttributeError) as error:
        if "lost" in str(error).lower():
            _say("Unable to determine the device handle for GPU: GPU is lost.")
        return None


def _asking(name: str) -> None:
    _say(f"# asking {name}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    main(int(sys.argv[1]))
