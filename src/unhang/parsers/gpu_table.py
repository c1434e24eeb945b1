"""From the table of plain `nvidia-smi` to the state of each GPU and to who computes on it.

Reads::

    | NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
    |   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
    | N/A   34C    P0             65W /  400W |  78123MiB /  81920MiB |    100%      Default |
    |   1  ERR!                           On  |   00000000:0F:00.0 ERR!|                 ERR! |
    | ERR! ERR! ERR!            ERR! / ERR!   |  ...
    | Processes:                                                                              |
    |    0   N/A  N/A      4711      C   /opt/conda/bin/python                       78110MiB |

Traps: a lone `ERR!` is mostly the fan or the power meter; processes of type G draw a screen; the
pids are those of the host, and in a container none are listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, GpuProcess, GpuState, HostProblem, HostReport
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_BUS = r"(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)"
_HEAD = re.compile(
    rf"^\|\s*(?P<index>\d{{1,3}})\s+\S.{{0,60}}?\|\s*{_BUS}\s*\S{{1,6}}\s*\|\s*(?P<ecc>\S{{1,12}})"
)
_MEMORY = re.compile(r"\|\s*(?P<used>\d{1,9})MiB\s*/\s*(?P<total>\d{1,9})MiB\s*\|")
_PROCESS = re.compile(
    r"^\|\s*(?P<gpu>\d{1,3})\s+(?:(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3})\s+)?(?P<pid>\d{1,10})\s+"
    r"(?:C|C\+G|M\+C)\s+(?P<name>\S.{0,120}?)\s+(?:(?P<used>\d{1,9})MiB|N/A)\s*\|"
)
_ERROR = "ERR!"
_BROKEN = 3
"""So many fields that cannot be read are the GPU's fault, not a sensor's."""


class GpuTableParser(LineParser, name="gpu-table", after=80):
    """Parser of nvidia-smi's table."""

    def __init__(self) -> None:
        self._head: tuple[Line, re.Match[str]] | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say a GPU when its second line has come, and a process at once."""
        process = _PROCESS.match(line.text)
        if process is not None:
            yield GpuProcess(
                **place(line),
                gpu=int(process["gpu"]),
                pid=int(process["pid"]),
                name=process["name"],
                used_mib=None if process["used"] is None else int(process["used"]),
            )
            return
        if self._head is not None:
            yield from _gpu(*self._head, line)
            self._head = None
            return
        head = _HEAD.match(line.text)
        if head is not None:
            self._head = line, head


def _gpu(line: Line, head: re.Match[str], second: Line) -> Iterator[Event]:
    """A GPU from its two lines, and what is wrong with it."""
    device = head["bus"].lower()
    memory = _MEMORY.search(second.text)
    yield GpuState(
        **place(line),
        index=int(head["index"]),
        bus_id=device,
        used_mib=None if memory is None else int(memory["used"]),
        total_mib=None if memory is None else int(memory["total"]),
    )
    if line.text.count(_ERROR) + second.text.count(_ERROR) >= _BROKEN:
        yield HostReport(
            **place(line), problem=HostProblem.GPU_UNREADABLE, device=device, detail=_ERROR
        )
    if head["ecc"].isdigit() and int(head["ecc"]) > 0:
        yield HostReport(
            **place(line),
            problem=HostProblem.ECC_UNCORRECTED,
            device=device,
            detail=f"Volatile Uncorr. ECC: {head['ecc']}",
        )
