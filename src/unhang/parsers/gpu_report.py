"""From `nvidia-smi -q` to what is wrong with a GPU.

Reads::

    GPU 00000000:9B:00.0
        ECC Errors
            Volatile
                SRAM Uncorrectable Parity         : 0
                DRAM Uncorrectable                : 3
            Aggregate
                DRAM Uncorrectable                : 3
        Remapped Rows
            Remapping Failure Occurred            : Yes
        Clocks Event Reasons
            HW Thermal Slowdown                   : Active
        GPU Recovery Action                       : Reset
    Unable to determine the device handle for GPU0000:9B:00.0: GPU is lost. Reboot the system …

Traps: `Aggregate` counts the whole life of the GPU and says nothing of this job; `N/A` and
`Not Active` are as they should be; a GPU that idles is slowed by software, which is normal.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, HostProblem, HostReport
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_P = HostProblem
_GPU = re.compile(r"^\s*GPU (?P<device>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_LOST = re.compile(
    r"(?:device handle for GPU ?(?:\d{1,3}: )?(?P<device>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:"
    r"[0-9A-Fa-f]{2}\.\d).{0,40}?)?(?:GPU is lost|(?<=: )Unknown Error)"
)
_VALUES: tuple[tuple[HostProblem, re.Pattern[str]], ...] = tuple(
    (problem, re.compile(rf"^\s*(?P<what>(?:{key}))\s*:\s*(?P<value>{value})\s*$"))
    for problem, key, value in (
        (
            _P.ECC_UNCORRECTED,
            r"(?:SRAM|DRAM) Uncorrectable(?: \w{2,12})?|Double Bit ECC|Uncorrectable Error",
            r"[1-9]\d{0,9}",
        ),
        (_P.REMAPPING_FAILED, r"Remapping Failure Occurred", r"Yes"),
        (_P.GPU_RESET_NEEDED, r"GPU Recovery Action", r"(?:Reset|Reboot|Drain\w*).{0,30}"),
        (_P.GPU_RESET_NEEDED, r"Pending(?: Page Blacklist)?", r"Yes"),
        (
            _P.GPU_SLOWED,
            r"HW (?:Thermal |Power Brake )?Slowdown|SW Thermal Slowdown",
            r"Active",
        ),
    )
)


class GpuReportParser(LineParser, name="gpu-report"):
    """Parser of nvidia-smi's long report."""

    def __init__(self) -> None:
        self._device: str | None = None
        self._lifetime = False

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what is wrong on this line."""
        gpu = _GPU.match(line.text)
        if gpu is not None:
            self._device, self._lifetime = gpu["device"].lower(), False
            return
        name = line.text.strip()
        if name in {"Volatile", "Aggregate"}:
            self._lifetime = name == "Aggregate"
            return
        lost = line.says(_LOST, within=True)
        if lost is not None:
            device = lost["device"] or self._device
            yield HostReport(**place(line), problem=_P.GPU_LOST, device=device, detail=name[:200])
        elif self._device is not None:
            yield from self._value(line)

    def _value(self, line: Line) -> Iterator[Event]:
        for problem, pattern in _VALUES:
            match = pattern.match(line.text)
            if match is None or (problem is _P.ECC_UNCORRECTED and self._lifetime):
                continue
            yield HostReport(
                **place(line),
                problem=problem,
                device=self._device,
                detail=f"{match['what'].strip()}: {match['value']}",
            )
            return
