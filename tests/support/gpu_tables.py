"""What `nvidia-smi` and `nvidia-smi topo -m` print, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_TOP = """\
Fri Nov 21 01:31:00 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
_GPU = """\
|   {index}  NVIDIA A100-SXM4-80GB          On  |   00000000:{bus:02X}:00.0 Off |  {ecc:>19} |
| N/A   34C    P0             65W /  400W |  {used:5d}MiB /  81920MiB |    100%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
_BROKEN = """\
|   {index}  ERR!                           On  |   00000000:{bus:02X}:00.0 ERR!|            ERR! |
| ERR! ERR! ERR!              ERR! / ERR! |      0MiB /  81920MiB |     ERR!         ERR! |
|                                         |                        |                 ERR! |
+-----------------------------------------+------------------------+----------------------+
"""
_PROCESSES = """\

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
"""


def table(
    gpus: int = 4,
    processes: Sequence[tuple[int, int, int]] = (),
    *,
    broken: int | None = None,
    ecc: Mapping[int, int] | None = None,
) -> str:
    """The table of a host; `processes` are (GPU, pid, MiB)."""
    text = _TOP
    for index in range(gpus):
        used = sum(mib for gpu, _, mib in processes if gpu == index)
        shape = _BROKEN if index == broken else _GPU
        count = (ecc or {}).get(index, 0)
        text += shape.format(index=index, bus=7 + 8 * index, used=used, ecc=count)
    text += _PROCESSES
    for gpu, pid, mib in processes:
        text += f"|{gpu:5d}   N/A  N/A {pid:9d}      C   /opt/conda/bin/python3.11 {mib:24d}MiB |\n"
    return text + "+" + "-" * 89 + "+\n"


def matrix(kinds: Sequence[Sequence[str]], nics: Sequence[str] = ()) -> str:
    """A matrix of GPUs, and of adapters that are far from all of them."""
    names = [*(f"GPU{i}" for i in range(len(kinds))), *(f"NIC{i}" for i in range(len(nics)))]
    rows = ["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for index, row in enumerate(kinds):
        cells = [*row, *("SYS" for _ in nics)]
        rows.append("\t".join([f"GPU{index}", *cells, "0-31", "0", "N/A"]))
    for index in range(len(nics)):
        cells = ["SYS" for _ in kinds] + [" X " if i == index else "PXB" for i in range(len(nics))]
        rows.append("\t".join([f"NIC{index}", *cells]))
    legend = ["", "Legend:", "", "  X    = Self", "  SYS  = Connection traversing PCIe", ""]
    legend += ["NIC Legend:", "", *(f"  NIC{i}: {name}" for i, name in enumerate(nics))]
    return "\n".join([*rows, *legend, ""])
