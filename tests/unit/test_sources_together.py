"""Logs, dumps, stacks, RAS and reports of hosts in one folder: one verdict, and who says what."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

import unhang
from support.debug_pages import SAVES, WAITS, page
from support.gpu_tables import matrix, table
from support.inspector_logs import log, record
from support.job_text import timed_out
from support.ras_answers import answer, communicator, member
from support.small_dumps import dumps
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.statement import Bearing, Source
from unhang.reporters import terminal

BANDWIDTHS = """\
# nThread 1 nGpus 1 minBytes 8388608 maxBytes 134217728
#       size         count      type   redop    root     time   algbw   busbw #wrong
   134217728      33554432     float     sum      -1    980.8  136.85  239.48      0
"""
PORTS = """\
CA 'mlx5_0'
        Port 1:
                State: Active
                Physical state: LinkUp
                Rate: 400
                Link layer: InfiniBand
"""
QUERY = """\
GPU 00000000:07:00.0
    ECC Errors
        Volatile
            DRAM Uncorrectable                : 0
    GPU Recovery Action                       : None
"""
KERNEL = "[ 1234.567890] nvidia-nvswitch: Module loaded\n[ 1300.000000] EXT4-fs (sda1): mounted\n"
XID = "[Fri Nov 21 01:21:00 2025] NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus.\n"


def host_reports(folder: Path) -> None:
    """Reports that find nothing wrong."""
    (folder / "nvidia-smi.txt").write_text(table(4))
    (folder / "nvidia-smi-q.txt").write_text(QUERY)
    (folder / "topo.txt").write_text(matrix([["X", "NV12"], ["NV12", "X"]], ["mlx5_0"]))
    (folder / "ibstat.txt").write_text(PORTS)
    (folder / "dmesg.txt").write_text(KERNEL)
    (folder / "nccl-tests.txt").write_text(BANDWIDTHS)


def ras(behind: int | None) -> str:
    counts = (member(rank, 6 if rank == behind else 7) for rank in range(4))
    return answer(communicator(*counts), at="2025-11-21 01:29:00")


def logs(folder: Path, ranks: Iterable[int]) -> None:
    for rank in ranks:
        (folder / f"rank{rank}.log").write_text(timed_out(rank, seq=7) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rank 2 saves; the others wait in call 7. Every kind of source is there."""
    dumps(tmp_path, r2=6)
    logs(tmp_path, (0, 1, 3))
    host_reports(tmp_path)
    (tmp_path / "stacks.html").write_text(page([WAITS, WAITS, SAVES, WAITS]))
    (tmp_path / "ras.json").write_text(ras(behind=2))
    for rank in range(4):
        lines = [record(rank, seq) for seq in range(1, 7)]
        (tmp_path / f"node1-pid{4000 + rank}.log").write_text(log(lines))
    return tmp_path


def bearings(diagnosis: Diagnosis) -> dict[Source, set[Bearing]]:
    told: dict[Source, set[Bearing]] = {}
    for statement in diagnosis.statements:
        told.setdefault(statement.source, set()).add(statement.bearing)
    return told


def test_each_source_says_what_it_says(folder: Path) -> None:
    diagnosis = unhang.diagnose(str(folder))
    assert (diagnosis.outcome, diagnosis.cause) == (Outcome.CAUSE, Cause.CHECKPOINT_SLOW)
    assert diagnosis.culprits == {2}
    told = bearings(diagnosis)
    for source in (Source.STACKS, Source.DUMPS, Source.RAS):
        assert told[source] & {Bearing.PROVES, Bearing.SUPPORTS}
    assert told[Source.MEASUREMENTS] == {Bearing.ADDS}
    assert not any(Bearing.CONTRADICTS in said for said in told.values())
    assert not {Source.HOSTS, Source.KERNEL} & told.keys()
    shown = " ".join(terminal.render(diagnosis).split())
    assert "What each source says" in shown
    assert "for it: NCCL's RAS" in shown
    assert "proof: Flight Recorder" in shown


@pytest.mark.parametrize(
    "missing", ["ras.json", "stacks.html", "nccl_trace_rank_2", "rank0.log", "nvidia-smi.txt"]
)
def test_no_source_is_needed_to_name_the_rank(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    assert unhang.diagnose(str(folder)).culprits == {2}


def test_a_source_that_names_another_rank_is_not_hidden(folder: Path) -> None:
    (folder / "ras.json").write_text(ras(behind=3))
    diagnosis = unhang.diagnose(str(folder))
    assert diagnosis.culprits == {2}
    assert bearings(diagnosis)[Source.RAS] == {Bearing.CONTRADICTS}
    assert "against it: NCCL's RAS" in " ".join(terminal.render(diagnosis).split())


def test_ras_that_finds_all_alike_is_a_remark(folder: Path) -> None:
    (folder / "ras.json").write_text(ras(behind=None))
    diagnosis = unhang.diagnose(str(folder))
    assert diagnosis.culprits == {2}
    assert bearings(diagnosis)[Source.RAS] == {Bearing.ADDS}


def test_ras_that_finds_all_alike_is_no_verdict(tmp_path: Path) -> None:
    logs(tmp_path, range(4))
    (tmp_path / "ras.json").write_text(ras(behind=None))
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.outcome is Outcome.UNDETERMINED
    assert diagnosis.culprits == frozenset()
    assert Bearing.ADDS in bearings(diagnosis)[Source.RAS]


def test_a_lost_gpu_in_the_kernel_log_and_in_a_report(tmp_path: Path) -> None:
    host_reports(tmp_path)
    logs(tmp_path, range(4))
    (tmp_path / "dmesg.txt").write_text(KERNEL + XID)
    (tmp_path / "nvidia-smi.txt").write_text(table(4, broken=2))
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.cause is Cause.GPU_HARDWARE
    told = bearings(diagnosis)
    assert told[Source.KERNEL] & {Bearing.PROVES, Bearing.SUPPORTS}
    assert told[Source.HOSTS] & {Bearing.PROVES, Bearing.SUPPORTS}


def test_reports_that_find_nothing_say_nothing(tmp_path: Path) -> None:
    host_reports(tmp_path)
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.outcome in {Outcome.UNDETERMINED, Outcome.HEALTHY}
    assert (diagnosis.candidates, diagnosis.statements, diagnosis.warnings) == ((), (), ())


@pytest.mark.parametrize(("device", "tied"), [("47:00.0", True), ("9b:00.0", False)])
def test_a_kernel_log_is_tied_by_the_gpu_that_the_iommu_stopped(
    device: str, tied: bool, tmp_path: Path
) -> None:
    ready = "node1:47:56 [0] NCCL INFO comm 0x2 rank 0 nranks 2 cudaDev 0 busId 47000 - Init "
    (tmp_path / "job.log").write_text(f"{ready}START\n{ready}COMPLETE\n")
    (tmp_path / "dmesg.txt").write_text(
        f"[ 8121.44] nvidia 0000:{device}: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x2c]\n"
    )
    found = unhang.diagnose(str(tmp_path))
    assert [c.cause for c in found.candidates] == [Cause.P2P_FAULT] * tied
