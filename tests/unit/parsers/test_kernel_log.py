"""Lines of the kernel log."""

import pytest

from support.feeding import feed, only
from unhang.model.events import KernelEvent, KernelProblem, MemoryKillsCounted
from unhang.parsers.kernel_log import COUNTED, KernelLogParser


def read(text: str) -> KernelEvent:
    return only(KernelEvent, feed(KernelLogParser, text))


def test_an_xid_with_its_process() -> None:
    event = read(
        "NVRM: Xid (PCI:0000:9b:00): 119, pid=4711, name=python3, Timeout after 6s of waiting for "
        "RPC response from GPU4 GSP!"
    )
    assert (event.problem, event.xid, event.device) == (KernelProblem.XID, 119, "0000:9b:00")
    assert (event.pid, event.process) == (4711, "python3")


def test_a_clean_up_names_the_xid_before_it() -> None:
    event = read(
        "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=18990, name=python3, Ch 00000001 caused by "
        "previous Xid 149"
    )
    assert (event.xid, event.previous_xid) == (45, 149)


def test_old_and_bare_xids() -> None:
    assert read("NVRM: Xid (0000:06:00): 62, 0cb5(2d50) 8503e428").xid == 62
    assert read("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.").xid == 79
    assert read("NVRM: GPU at 0000:07:00.0 has fallen off the bus.").xid == 79


def test_the_host_of_a_syslog_line() -> None:
    text = "Nov 21 03:55:01 gpu-07 kernel: [ 123.4] NVRM: Xid (PCI:0000:41:00): 48, pid=1"
    assert read(text).origin.host == "gpu-07"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 28 LTSSM Fault Up",
            KernelProblem.NVSWITCH,
        ),
        (
            "Out of memory: Killed process 4711 (python3) total-vm:9kB, anon-rss:2048kB, "
            "file-rss:0kB",
            KernelProblem.OOM_KILL,
        ),
        (
            "Out of memory: Kill process 4711 (python) score 900 or sacrifice child",
            KernelProblem.OOM_KILL,
        ),
        (
            "Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB",
            KernelProblem.CGROUP_OOM,
        ),
        (
            ""
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,task=python3,pid=4711,uid=0",
            KernelProblem.CGROUP_OOM,
        ),
        (
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=python3,pid=4711,uid=0",
            KernelProblem.OOM_KILL,
        ),
        (
            "python3[4711]: segfault at 7f00 ip 00007f sp 00007f error 6 in libtorch_cuda.so[7f+1]",
            KernelProblem.SEGFAULT,
        ),
        (
            "traps: python3[4711] trap divide error ip:7f sp:7f error:0 in libcublasLt.so.12[7f+1]",
            KernelProblem.SEGFAULT,
        ),
        ("mlx5_core 0000:5e:00.0 ib3: Link down", KernelProblem.LINK_DOWN),
        ("mlx5_core 0000:5e:00.0 ens3f0: Link up", KernelProblem.LINK_UP),
        (
            "mlx5_core 0000:5e:00.0: Port module event: module 0, Cable unplugged",
            KernelProblem.LINK_DOWN,
        ),
        (
            "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:00:01.0",
            KernelProblem.PCIE_ERROR,
        ),
        ("INFO: task python3:4711 blocked for more than 122 seconds.", KernelProblem.BLOCKED_TASK),
        ("nfs: server 10.0.0.9 not responding, still trying", KernelProblem.STORAGE_STALL),
        ("DMAR: [DMA Read] Request device [3b:00.0] fault addr ffff", KernelProblem.IOMMU_FAULT),
        (
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=21:00.0 domain=0x1 address=0xd0]",
            KernelProblem.IOMMU_FAULT,
        ),
        ("CPU3: Package temperature above threshold, cpu clock throttled", KernelProblem.THERMAL),
    ],
)
def test_problems(text: str, problem: KernelProblem) -> None:
    assert read(text).problem is problem


def test_who_was_killed_and_how_large_it_was() -> None:
    event = read("Out of memory: Killed process 4711 (python3) anon-rss:2048kB, file-rss:0kB")
    assert (event.pid, event.process, event.rss_bytes) == (4711, "python3", 2 << 20)
    assert read("mlx5_core 0000:5e:00.0 ib3: Link down").device == "ib3"
    fault = read("amdgpu 0000:43:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x34]")
    assert fault.device == "0000:43:00.0"


@pytest.mark.parametrize(
    "text",
    [
        "pcieport 0000:00:03.0: AER: Corrected error received: 0000:00:03.0",
        "pcieport 0000:00:03.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer",
        "nfs: server 10.0.0.9 OK",
        "mlx5_core 0000:5e:00.0: firmware version: 28.39.1002",
        "DMAR: IOMMU enabled",
        "the GPU temperature is fine",
    ],
)
def test_what_is_no_fault(text: str) -> None:
    assert feed(KernelLogParser, text) == []


def test_a_flood_is_cut() -> None:
    text = "NVRM: Xid (PCI:0000:9b:00): 119, pid={pid}, name=python3, Timeout after 6s"
    assert len(feed(KernelLogParser, *(text.format(pid=n) for n in range(50)))) == 3


def test_an_agent_counts_the_kernel_s_kills_where_it_may_not_read_its_log() -> None:
    told = feed(KernelLogParser, f"{COUNTED} 3")
    assert [event.count for event in told if isinstance(event, MemoryKillsCounted)] == [3]
    assert feed(KernelLogParser, f"{COUNTED} many") == []


@pytest.mark.parametrize(
    ("text", "problem", "pid"),
    [
        (
            "amdgpu 0000:83:00.0: amdgpu: socket: 0, die: 0 1 uncorrectable hardware errors"
            " detected in total in umc block",
            KernelProblem.GPU_FAULT,
            None,
        ),
        (
            'earlyoom[702]: sending SIGTERM to process 28331 uid 1000 "python": badness 912',
            KernelProblem.OOM_KILL,
            28331,
        ),
        (
            "systemd-oomd[811]: Killed /user.slice/s.scope due to memory pressure for /user.slice",
            KernelProblem.OOM_KILL,
            None,
        ),
        (
            "abrt-hook-ccpp[91]: Process 20412 (python3) of user 1004 killed by SIGABRT - dumping",
            KernelProblem.SEGFAULT,
            20412,
        ),
        (
            "systemd-coredump[7]: Process 4711 (python3) of user 1000 dumped core.",
            KernelProblem.SEGFAULT,
            4711,
        ),
    ],
)
def test_what_others_of_the_host_log(text: str, problem: KernelProblem, pid: int | None) -> None:
    event = read(text)
    assert (event.problem, event.pid) == (problem, pid)


@pytest.mark.parametrize(
    "text",
    [
        "amdgpu 0000:83:00.0: amdgpu: 0 uncorrectable hardware errors detected in total in umc",
        "amdgpu 0000:83:00.0: amdgpu: 3 correctable hardware errors detected in total in umc block",
        "earlyoom[702]: mem avail: 28110 of 128740 MiB (21.83%), sending SIGTERM below 10%",
    ],
)
def test_what_they_log_all_day(text: str) -> None:
    assert feed(KernelLogParser, text) == []
