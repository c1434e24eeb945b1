"""Plain nvidia-smi and its matrix of connections."""

import pytest

from support.feeding import feed, only
from support.gpu_tables import matrix, table
from unhang.model.events import (
    DeviceLink,
    Event,
    GpuProcess,
    GpuState,
    HostProblem,
    HostReport,
    TopologySeen,
)
from unhang.parsers.gpu_report import GpuReportParser
from unhang.parsers.gpu_table import GpuTableParser
from unhang.parsers.topology import TopologyParser

KINDS = (
    (" X ", "NV12", "SYS", "SYS"),
    ("NV12", " X ", "SYS", "SYS"),
    ("SYS", "SYS", " X ", "NV12"),
    ("SYS", "SYS", "NV12", " X "),
)


def smi(text: str) -> list[Event]:
    return feed(GpuTableParser, *text.split("\n"))


def topology(text: str) -> TopologySeen:
    return only(TopologySeen, feed(TopologyParser, *text.split("\n")))


def test_gpus_and_processes() -> None:
    events = smi(table(4, [(0, 4711, 70_000), (1, 4712, 512)]))
    states = [e for e in events if isinstance(e, GpuState)]
    assert [(s.index, s.bus_id, s.used_mib, s.total_mib) for s in states] == [
        (0, "00000000:07:00.0", 70_000, 81_920),
        (1, "00000000:0f:00.0", 512, 81_920),
        (2, "00000000:17:00.0", 0, 81_920),
        (3, "00000000:1f:00.0", 0, 81_920),
    ]
    processes = [e for e in events if isinstance(e, GpuProcess)]
    assert [(p.gpu, p.pid, p.used_mib) for p in processes] == [(0, 4711, 70_000), (1, 4712, 512)]
    assert not [e for e in events if isinstance(e, HostReport)]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("|    0     12345      C   python train.py                 1000MiB |", (0, 12345, 1000)),
        ("|    2   N/A  N/A   12345    C+G   ...n/python3.11      N/A      |", (2, 12345, None)),
        ("|    1    3    0      99      C   python      500MiB |", (1, 99, 500)),
    ],
)
def test_processes_of_other_versions(row: str, told: tuple[int, int, int | None]) -> None:
    process = only(GpuProcess, smi(f"| Processes:   |\n{row}"))
    assert (process.gpu, process.pid, process.used_mib) == told


def test_what_draws_a_screen_does_not_compute() -> None:
    row = "|    0   N/A  N/A      1234      G   /usr/lib/xorg/Xorg      90MiB |"
    assert smi(f"| Processes:   |\n{row}\n|  No running processes found   |") == []


def test_a_gpu_that_cannot_be_read_and_one_with_errors() -> None:
    events = smi(table(4, broken=2, ecc={1: 3}))
    reports = [(e.problem, e.device) for e in events if isinstance(e, HostReport)]
    assert reports == [
        (HostProblem.ECC_UNCORRECTED, "00000000:0f:00.0"),
        (HostProblem.GPU_UNREADABLE, "00000000:17:00.0"),
    ]


def test_a_fan_that_cannot_be_read_is_no_lost_gpu() -> None:
    text = table(2).replace("| N/A   34C", "| ERR!  34C")
    assert not [e for e in smi(text) if isinstance(e, HostReport)]


def test_a_handle_that_cannot_be_had() -> None:
    text = "Unable to determine the device handle for GPU0: 0000:9B:00.0: Unknown Error"
    for line in (text, text.replace("GPU0: 0000", "GPU 0000")):
        found = only(HostReport, feed(GpuReportParser, line))
        assert found.problem is HostProblem.GPU_LOST


@pytest.mark.parametrize("blank", ["\t", "     "])
def test_the_matrix(blank: str) -> None:
    found = topology(matrix(KINDS, ["mlx5_0", "mlx5_3"]).replace("\t", blank))
    assert found.gpus == (0, 1, 2, 3)
    assert (found.between(0, 1), found.between(2, 1), found.between(0, 9)) == ("NV12", "SYS", None)
    assert DeviceLink("mlx5_0", "GPU0", "SYS") in {*found.links} or (
        DeviceLink("GPU0", "mlx5_0", "SYS") in {*found.links}
    )


def test_adapters_in_the_matrix_itself() -> None:
    text = "\tGPU0\tmlx5_0\tCPU Affinity\nGPU0\t X \tPHB\t0-31\nmlx5_0\tPHB\t X \n"
    assert topology(text).links == (DeviceLink("GPU0", "mlx5_0", "PHB"),)


def test_a_cut_row_tells_nothing() -> None:
    text = matrix(KINDS)
    cut = text[: text.index("GPU2\tSYS") + 9]
    assert topology(cut).between(2, 3) is None
