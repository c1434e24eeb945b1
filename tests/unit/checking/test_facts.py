"""Facts of a host: on folders that stand in for hosts, and on this one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from unhang.checking import facts as all_facts
from unhang.checking.asking import look
from unhang.checking.facts import FACTS
from unhang.checking.facts.devices import judge_gpu
from unhang.checking.facts.system import judge_kernel_log
from unhang.checking.host import Fact, Host, HostRequest
from unhang.checking.interfaces import Interface, gloo_takes, nccl_takes
from unhang.model.preflight import Stage, Status
from unhang.reporters.catalogue import own_sentences, sentences

BY_NAME = {fact.name: fact for fact in FACTS}
MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 22 0:50 / /home rw,relatime shared:1 - nfs4 filer:/home rw,vers=4.2
41 22 0:51 / /home/local\\040disk rw - xfs /dev/nvme0n1 rw
42 22 0:52 / /scratch rw - lustre 10.0.0.1@o2ib:/scratch rw
43 22 0:53 / /mnt/sshfs rw - fuse.sshfs me@there:/ rw
"""


def stand_in(folder: Path, **files: str) -> Host:
    """A host whose files are those; `proc__swaps` is /proc/swaps."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Host(root=str(folder), environ={})


def seen(name: str, host: Host) -> list[Stage]:
    return list(look(BY_NAME[name], host))


def keys(stages: list[Stage]) -> list[str]:
    return [stage.message.key for stage in stages]


@pytest.mark.parametrize(
    ("path", "kind", "fails"),
    [
        ("/swapfile", "file", False),
        ("/home/me/swap", "file", True),
        ("/home/local disk/swap", "file", False),
        ("/scratch/swap", "file", True),
        ("/mnt/sshfs/swap", "file", True),
        ("/dev/sda2", "partition", False),
        ("/dev/nbd0", "partition", True),
    ],
)
def test_swap_is_judged_by_where_it_lives(
    path: str, kind: str, fails: bool, tmp_path: Path
) -> None:
    if " " in path:
        path = path.replace(" ", "\\040")
    rows = f"Filename Type Size Used Priority\n{path} {kind} 8388604 0 -2\n"
    host = stand_in(tmp_path, proc__swaps=rows, proc__self__mountinfo=MOUNTS)
    found = seen("swap", host)
    assert [stage.status is Status.FAIL for stage in found] == [fails]
    assert keys(found) == ["fact.swap_remote" if fails else "fact.swap"]


def test_no_swap_is_well(tmp_path: Path) -> None:
    host = stand_in(tmp_path, proc__swaps="Filename\tType\tSize\tUsed\tPriority\n")
    assert keys(seen("swap", host)) == ["fact.swap_none"]


def test_what_is_not_there_is_skipped_with_a_reason(tmp_path: Path) -> None:
    host = Host(root=str(tmp_path), environ={})
    for name in ("memory", "swap", "pressure", "ports", "rdma", "gpus", "fabric", "placement"):
        (stage,) = seen(name, host)
        assert stage.status is Status.SKIP, name
        assert stage.message.key.startswith("fact_skip."), name


MEMINFO = "MemTotal:       100000000 kB\nMemFree: 1 kB\nMemAvailable:   {free} kB\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc__meminfo": MEMINFO.format(free=50_000_000)}, "fact.memory"),
        ({"proc__meminfo": MEMINFO.format(free=5_000_000)}, "fact.memory_low"),
        (
            {
                "proc__meminfo": MEMINFO.format(free=50_000_000),
                "proc__self__cgroup": "0::/job\n",
                "sys__fs__cgroup__job__memory.max": "10000000000\n",
                "sys__fs__cgroup__job__memory.current": "9800000000\n",
            },
            "fact.memory_limit_near",
        ),
        (
            {
                "proc__meminfo": MEMINFO.format(free=50_000_000),
                "proc__self__cgroup": "0::/job\n",
                "sys__fs__cgroup__job__memory.max": "10000000000\n",
                "sys__fs__cgroup__job__memory.current": "9800000000\n",
                "sys__fs__cgroup__job__memory.stat": "anon 1\ninactive_file 9000000000\n",
            },
            "fact.memory_limit",
        ),
        (
            {
                "proc__meminfo": MEMINFO.format(free=50_000_000),
                "proc__self__cgroup": "4:memory:/a/b\n",
                "sys__fs__cgroup__memory__a__memory.limit_in_bytes": "1000000000\n",
                "sys__fs__cgroup__memory__a__memory.usage_in_bytes": "10\n",
            },
            "fact.memory_limit",
        ),
    ],
)
def test_memory_of_the_host_and_of_its_control_group(
    files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    assert keys(seen("memory", stand_in(tmp_path, **files))) == [expected]


@pytest.mark.parametrize(
    ("quota", "ranks", "expected"),
    [
        ("max 100000", 1, "cores"),
        ("50000 100000", 1, "cores_taken"),
        ("max 100000", 4096, "cores_few"),
    ],
)
def test_cores_by_quota(quota: str, ranks: int, expected: str, tmp_path: Path) -> None:
    stand_in(tmp_path, proc__self__cgroup="0::/\n", **{"sys__fs__cgroup__cpu.max": quota})
    if len(os.sched_getaffinity(0)) != os.cpu_count():
        pytest.skip("this process may not use all cores")
    host = Host(root=str(tmp_path), environ={}, request=HostRequest(ranks=ranks))
    assert keys(seen("cores", host)) == [f"fact.{expected}"]


def test_few_ports(tmp_path: Path) -> None:
    name = "proc__sys__net__ipv4__ip_local_port_range"
    (stage,) = seen("ports", stand_in(tmp_path, **{name: "50000\t50100\n"}))
    assert (stage.status, stage.measured["count"]) == (Status.FAIL, 101)


@pytest.mark.parametrize(
    ("share", "expected"), [("0.00", "pressure"), ("71.20", "pressure_memory")]
)
def test_pressure(share: str, expected: str, tmp_path: Path) -> None:
    line = f"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60={share} avg300=0"
    host = stand_in(tmp_path, proc__pressure__memory=line, proc__pressure__io=line)
    assert keys(seen("pressure", host))[0] == f"fact.{expected}"


def rdma(folder: Path, **states: str) -> Host:
    files: dict[str, str] = {}
    for device, state in states.items():
        port = f"sys__class__infiniband__{device}__ports__1"
        layer = "Ethernet" if device.startswith("roce") else "InfiniBand"
        files |= {f"{port}__state": state, f"{port}__phys_state": "5: LinkUp",
                  f"{port}__link_layer": layer, f"{port}__rate": "400 Gb/sec (4X NDR)"}  # fmt: skip
    return stand_in(folder, **files)


@pytest.mark.process
@pytest.mark.parametrize(
    ("hca", "expected"),
    [
        (None, ["fact.rdma_down"]),
        ("mlx5_0", ["fact.rdma"]),
        ("^mlx5_1", ["fact.rdma"]),
        ("=mlx5_1:1", ["fact.rdma_down"]),
        ("mlx5_9", ["fact.rdma_none"]),
    ],
)
def test_only_rdma_ports_that_nccl_uses_count(
    hca: str | None, expected: list[str], tmp_path: Path
) -> None:
    host = rdma(tmp_path, mlx5_0="4: ACTIVE", mlx5_1="1: DOWN")
    host = Host(root=host.root, environ={} if hca is None else {"NCCL_IB_HCA": hca})
    assert keys(seen("rdma", host)) == expected


@pytest.mark.process
def test_a_port_with_ethernet_needs_a_gid_of_version_2(tmp_path: Path) -> None:
    host = rdma(tmp_path, roce0="4: ACTIVE")
    assert keys(seen("rdma", host)) == ["fact.rdma_no_gid"]
    types = tmp_path / "sys/class/infiniband/roce0/ports/1/gid_attrs/types"
    types.mkdir(parents=True)
    (types / "3").write_text("RoCE v2\n")
    assert keys(seen("rdma", host)) == ["fact.rdma"]


GPU = """\
# asking nvmlInit
GPU 00000000:1B:00.0
    Product Name : NVIDIA H100 80GB HBM3
    Temperature C : {heat}
    Memory Used bytes : {used}
    PCIe Width : {width}
    PCIe Width Max : 16
    HW Slowdown : {slow}
    SW Power Cap : Active
    Volatile
        DRAM Uncorrectable : {ecc}
    Aggregate
        DRAM Uncorrectable : 7
    NVLink 0 : Up
    NVLink 1 : {link}
"""
WELL = {"heat": 40, "used": 1000, "width": 16, "slow": "Not Active", "ecc": 0, "link": "Up"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"heat": 91}, ["fact.gpu_hot"]),
        ({"used": 5 << 30}, ["fact.gpu_memory_taken"]),
        ({"width": 8}, ["fact.gpu_width"]),
        ({"slow": "Active"}, ["fact.gpu_slowed"]),
        ({"ecc": 2}, ["fact.gpu_ecc"]),
        ({"link": "Down"}, ["fact.gpu_link"]),
    ],
)
def test_what_a_gpu_tells(change: dict[str, object], expected: list[str]) -> None:
    assert keys(list(judge_gpu(3, GPU.format(**{**WELL, **change})))) == expected


def test_processes_on_a_gpu() -> None:
    text = GPU.format(**WELL) + "    Process ID : 77\n        Used GPU Memory bytes : 1073741824\n"
    (stage,) = judge_gpu(0, text)
    assert (stage.message.key, stage.measured["pids"]) == ("fact.gpu_taken", "77")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.", Status.FAIL),
        ("NVRM: Xid (PCI:0000:9b:00): 31, pid=4711, name=python3, Ch 0000000b", None),
        ("mlx5_core 0000:5e:00.0 ib3: Link down", Status.FAIL),
        ("mlx5_core 0000:5e:00.0 ib3: Link up", None),
        ("mce: [Hardware Error]: Machine check events logged", Status.FAIL),
        ("Out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:24kB", Status.WARN),
        ("usb 1-1: new device", None),
    ],
)
def test_the_kernel_log(line: str, status: Status | None) -> None:
    stages = list(judge_kernel_log(f"2026-11-21T07:00:00,123456+00:00 {line}\n"))
    assert [s.status for s in stages[:-1]] == ([] if status is None else [status])
    assert stages[-1].status is Status.PASS


def nic(name: str, address: str | None = "10.0.0.2", *, up: bool = True) -> Interface:
    return Interface(name=name, up=up, carrier=up, loopback=name == "lo", address=address,
                     mbit=None, mtu=1500)  # fmt: skip


ALL = [nic("lo", "127.0.0.1"), nic("docker0", "172.17.0.1"), nic("eth0"), nic("ib0", "10.1.0.2")]


@pytest.mark.parametrize(
    ("names", "variable", "expected"),
    [
        (("lo", "docker0", "eth0", "ib0"), None, "ib0"),
        (("lo", "docker0", "eth0"), None, "eth0"),
        (("lo", "docker0"), None, "docker0"),
        (("lo",), None, "lo"),
        (("lo", "docker0", "eth0", "ib0"), "eth", "eth0"),
        (("lo", "docker0", "eth0", "ib0"), "=eth", None),
        (("lo", "docker0", "eth0", "ib0"), "^ib,docker,lo", "eth0"),
        (("lo", "docker0", "eth0", "ib0"), "=ib0", "ib0"),
    ],
)
def test_the_interface_that_nccl_takes(
    names: tuple[str, ...], variable: str | None, expected: str | None
) -> None:
    found = [one for one in ALL if one.name in names]
    environ = {} if variable is None else {"NCCL_SOCKET_IFNAME": variable}
    taken = nccl_takes(found, environ)
    assert (None if taken is None else taken.name) == expected


@pytest.mark.parametrize(
    ("environ", "own", "expected"),
    [
        ({}, "10.0.0.2", "eth0"),
        ({}, "127.0.1.1", "lo"),
        ({}, None, None),
        ({"GLOO_SOCKET_IFNAME": "ib0"}, "10.0.0.2", "ib0"),
        ({"GLOO_SOCKET_IFNAME": "ib1"}, "10.0.0.2", None),
    ],
)
def test_the_interface_that_gloo_takes(
    environ: dict[str, str], own: str | None, expected: str | None
) -> None:
    taken = gloo_takes(ALL, environ, own)
    assert (None if taken is None else taken.name) == expected


def test_a_storage_that_is_written_to_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("x")
    host = Host(environ={}, request=HostRequest(ranks=2, checkpoint=str(tmp_path)))
    found = seen("storage", host)
    assert all(isinstance(s.measured["one_writer"], int) for s in found)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def named_in_source() -> Iterator[tuple[str, str]]:
    """Every call of passed, warned, failed and Skip in the facts, with its first word."""
    folder = Path(all_facts.__file__).parent
    for path in [*folder.glob("*.py"), folder.parent / "host.py"]:
        text = path.read_text("utf-8")
        yield from re.findall(r'\b(passed|warned|failed|Skip)\)?\(\s*"(\w+)"', text)


def test_every_fault_has_its_sentence_and_says_what_to_do() -> None:
    texts = own_sentences("en")
    found = list(named_in_source())
    assert len(found) > 60
    for kind, name in found:
        assert f"{'fact_skip' if kind == 'Skip' else 'fact'}.{name}" in texts or name == "setting"
        if kind in ("warned", "failed"):
            assert f"fact_do.{name}" in texts, name


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
def test_every_fact_has_a_name_in_every_language(fact: Fact) -> None:
    assert f"fact_name.{fact.name}" in sentences("en")
    assert f"fact_name.{fact.name}" in own_sentences("zh")
