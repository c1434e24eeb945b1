"""`unhang check` of four hosts in network namespaces: each fault is named, and nobody else.

Where the cores are taken a slow link is left undecided, so that these need a quiet machine, and
minutes: `make drill-check` runs them, and writes what was named into `docs/drills-check.md`.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path

import pytest

from integration.shifted_clock import ShiftedClock
from support.cluster import Cluster, Node, Report, cluster, may
from support.needs import NEEDS_TORCH

WHY_NOT = may() if os.environ.get("UNHANG_DRILL_CHECK") else "make drill-check runs them"
PAGE = os.environ.get("UNHANG_DRILL_CHECK_PAGE")
HOSTS = ("--hosts", "node[0-3]", "--join", "60")
HEALTHY = 20
RAY = """
import subprocess, sys
from ray.cluster_utils import Cluster
ray = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
try:
    ray.add_node(num_cpus=1)
    words = [sys.executable, "-m", "unhang", "check", "--ray", ray.address, *sys.argv[1:]]
    sys.exit(subprocess.run(words, timeout=300).returncode)
finally:
    ray.shutdown()
"""
FUSE = """
import ctypes, os, sys
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
sys.exit(ctypes.CDLL(None).mount(b"files.example:/swap", sys.argv[1].encode(), b"fuse", 0, options))
"""

pytestmark = [pytest.mark.integration, NEEDS_TORCH]
in_namespaces = pytest.mark.skipif(WHY_NOT is not None, reason=f"faults between hosts: {WHY_NOT}")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
Judge = Callable[..., None]


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


@pytest.fixture(scope="module")
def rows() -> Iterator[list[str]]:
    """Of the page, which is written when the last drill is over."""
    found: list[str] = []
    yield found
    if PAGE is not None and found:
        _write_page(Path(PAGE), found)


@pytest.fixture
def judge(rows: list[str], request: pytest.FixtureRequest) -> Judge:
    """Hold a report against who must be named."""

    def hold(report: Report, *wanted: str, by: str = "") -> None:
        fault = request.node.name.removeprefix("test_").replace("_", " ")
        assert report.data, report.ends
        named = ", ".join(sorted(report.named)) or "nobody"
        ids = {s["id"] for s in report.data["stages"] if s["status"] in ("warn", "fail")}
        right = report.named == set(wanted) and (not by or by in ids)
        rows.append(f"| {fault} | {', '.join(sorted(wanted)) or 'nobody'} | {named} |"
                    f" {'right' if right else 'wrong'} | {report.seconds:.0f} |")  # fmt: skip
        assert report.named == set(wanted), report.faults()
        assert not by or by in ids, report.faults()

    return hold


def _write_page(path: Path, found: list[str]) -> None:
    now = datetime.now(timezone.utc).date()
    wrong = sum("| wrong |" in row for row in found)
    path.write_text(
        "\n".join(
            (
                "<!-- Made by `make drill-check`; edit tests/integration/test_check_cluster.py,"
                " not this page. -->",
                "",
                "# Drills of `unhang check`",
                "",
                "Four hosts in network namespaces of one machine, each with a cable, a name, a"
                " `/dev/shm` and a",
                "mount table of its own; a fault is put into one of them, or between two, and"
                " `unhang check` runs",
                "on all. Who must be named, who was, and how long the whole check took, its"
                " start included.",
                "",
                f"Measured on {now} on {os.cpu_count()} cores, Linux {platform.release()}, Python"
                f" {platform.python_version()}, at a load of {os.getloadavg()[2]:.0f}.",
                "",
                f"{len(found) - wrong} of {len(found)} checks right.",
                "",
                "| fault | must be named | named | | seconds |",
                "| --- | --- | --- | --- | --- |",
                *found,
                "",
            )
        ),
        "utf-8",
    )


@in_namespaces
@pytest.mark.timeout(3000)
def test_healthy_hosts_are_green_again_and_again(four: Cluster, judge: Judge) -> None:
    for _ in range(HEALTHY):
        report = four.check(*HOSTS)
        judge(report)
        bad = [s for s in report.data["stages"] if s["status"] in ("warn", "fail")]
        # On a machine whose cores are all taken a link may be left undecided, never accused.
        assert {s["id"] for s in bad} <= {"stage.link_unsure"}, report.faults()
        assert [s["status"] for s in report.data["stages"] if s["name"] == "whole"] == ["pass"]
        assert report.data["pair_tests"] == 6
        assert {code for code, _ in report.ends} == {1 if bad else 0}


@in_namespaces
def test_a_slow_host(four: Cluster, judge: Judge) -> None:
    rate = ("rate", "20mbit", "burst", "16k", "latency", "200ms")
    four.nodes[2].inside("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *rate)
    report = four.check(*HOSTS)
    judge(report, "node2")
    assert report.data["exclude"] == ["node2"]


@in_namespaces
def test_a_slow_link(four: Cluster, judge: Judge) -> None:
    node, other = four.nodes[1], four.nodes[3]
    _slow_to(node.namespace, other.address)
    report = four.check(*HOSTS)
    judge(report, "node1 - node3")
    assert len(report.data["exclude"]) == 1


def _slow_to(namespace: str, address: str) -> None:
    """Of the packets to one address so many are dropped that TCP crawls."""
    rule = ("-A", "OUTPUT", "-d", address, "-m", "limit", "--limit", "200/second")
    for words in (
        (*rule, "--limit-burst", "20", "-j", "ACCEPT"),
        ("-A", "OUTPUT", "-d", address, "-p", "tcp", "-j", "DROP"),
    ):
        subprocess.run(["ip", "netns", "exec", namespace, "iptables", *words], check=True)


@in_namespaces
def test_a_host_that_loses_packets(four: Cluster, judge: Judge) -> None:
    lose = ("-m", "statistic", "--mode", "random", "--probability", "0.03", "-j", "DROP")
    four.nodes[1].inside("iptables", "-A", "INPUT", "-p", "tcp", *lose)
    report = four.check(*HOSTS)
    judge(report, "node1")


@in_namespaces
@pytest.mark.parametrize("value", ["lo", "eth7"])
def test_a_wrong_interface(value: str, four: Cluster, judge: Judge) -> None:
    four.nodes[3].environment["GLOO_SOCKET_IFNAME"] = value
    report = four.check(*HOSTS)
    judge(report, "node3")


@in_namespaces
def test_an_interface_that_the_others_do_not_share(four: Cluster, judge: Judge) -> None:
    node = four.nodes[3]
    node.inside("ip", "link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
    node.inside("ip", "address", "add", "192.168.254.9/30", "dev", "eth1")
    node.inside("ip", "link", "set", "eth1", "up")
    node.environment["GLOO_SOCKET_IFNAME"] = "eth1"
    report = four.check(*HOSTS)
    judge(report, "node3")


@in_namespaces
def test_a_host_behind_a_firewall(four: Cluster, judge: Judge) -> None:
    node = four.nodes[2]
    node.inside("iptables", "-A", "INPUT", "-p", "tcp", "--syn", "-j", "DROP")
    node.inside("iptables", "-A", "OUTPUT", "-p", "tcp", "--syn", "!", "-d", four.nodes[0].address,
                "-j", "DROP")  # fmt: skip
    report = four.check(*HOSTS)
    judge(report, "node2")


@in_namespaces
def test_a_host_that_cannot_reach_rank_0(four: Cluster, judge: Judge) -> None:
    four.nodes[2].inside("iptables", "-A", "OUTPUT", "-p", "tcp", "--syn", "-j", "DROP")
    report = four.check("--hosts", "node[0-3]", "--join", "12")
    judge(report, "node2")
    assert "rank 0 cannot be reached" in report.ends[2][1]
    assert report.ends[2][0] == 2


@in_namespaces
def test_a_dead_host(four: Cluster, judge: Judge) -> None:
    four.nodes[3].dead = True
    report = four.check("--hosts", "node[0-3]", "--join", "12")
    judge(report, "node3")


@in_namespaces
def test_a_small_shared_memory(four: Cluster, judge: Judge) -> None:
    four.nodes[0].shm = "64m"
    report = four.check(*HOSTS)
    judge(report, "node0", by="fact.shm_small")


@in_namespaces
def test_too_few_cores(four: Cluster, judge: Judge) -> None:
    four.nodes[1].cores = "0"
    report = four.check(*HOSTS, ranks=2)
    judge(report, "node1")


@in_namespaces
def test_another_torch(four: Cluster, judge: Judge, tmp_path: Path) -> None:
    told = tmp_path / "torch-2.7.1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1\n")
    four.nodes[2].environment["PYTHONPATH"] = str(tmp_path)
    report = four.check(*HOSTS)
    judge(report, "node2")


@in_namespaces
def test_a_setting_that_one_host_has(four: Cluster, judge: Judge) -> None:
    four.nodes[2].environment["NCCL_ALGO"] = "Tree"
    report = four.check(*HOSTS)
    judge(report, "node2")


@in_namespaces
def test_a_link_that_loses_packets(four: Cluster, judge: Judge) -> None:
    lose = ("-m", "statistic", "--mode", "random", "--probability", "0.03", "-j", "DROP")
    four.nodes[0].inside("iptables", "-A", "INPUT", "-s", four.nodes[2].address, "-p", "tcp", *lose)
    judge(four.check(*HOSTS), "node0 - node2", by="stage.bad_link")


@in_namespaces
@needs_compiler
def test_a_clock_that_is_off(four: Cluster, judge: Judge, tmp_path: Path) -> None:
    clock = ShiftedClock(tmp_path)
    clock.shift(90)
    four.nodes[1].environment |= clock.environment
    judge(four.check(*HOSTS), "node1", by="stage.clock_off")


@in_namespaces
@needs_compiler
def test_another_nccl(four: Cluster, judge: Judge, tmp_path: Path) -> None:
    for index, node in enumerate(four.nodes):
        release = "2.26.2" if index == 3 else "2.27.5"
        folder = tmp_path / release
        folder.mkdir(exist_ok=True)
        text = f'const char said[] = "NCCL version {release}+cuda12.8";'
        (folder / "nccl.c").write_text(text)
        subprocess.run(["cc", "-shared", "-o", folder / "libnccl.so.2", folder / "nccl.c"],
                       check=True)  # fmt: skip
        node.environment["LD_LIBRARY_PATH"] = str(folder)
    judge(four.check(*HOSTS), "node3", by="stage.differs")


@in_namespaces
@pytest.mark.skipif(not Path("/dev/fuse").exists(), reason="no FUSE")
def test_swap_on_network_storage(four: Cluster, judge: Judge, tmp_path: Path) -> None:
    """A mount of FUSE that nobody serves, and a table of swap that names a file on it."""
    (tmp_path / "net").mkdir()
    (tmp_path / "fuse.py").write_text(FUSE)
    swaps = tmp_path / "swaps"
    swaps.write_text(
        f"Filename\tType\tSize\tUsed\tPriority\n{tmp_path}/net/swap file 8388604 0 -2\n"
    )
    mount = f"{sys.executable} {tmp_path}/fuse.py {tmp_path}/net"
    four.nodes[2].before = f"{mount}; mount --bind {swaps} /proc/swaps;"
    judge(four.check(*HOSTS), "node2", by="fact.swap_remote")


@in_namespaces
@pytest.mark.skipif(not Path("/sys/fs/cgroup/blkio").exists(), reason="no blkio of cgroup 1")
def test_a_slow_disk(four: Cluster, judge: Judge, tmp_path: Path) -> None:
    """Each host has a disk of its own in memory; one of them takes 20 MB a second."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    group = Path(f"/sys/fs/cgroup/blkio/{four.nodes[3].namespace}")
    disks: list[str] = []
    try:
        disks += map(_disk, four.nodes, [folder] * len(four.nodes))
        group.mkdir()
        number = Path(disks[3]).stat().st_rdev
        (group / "blkio.throttle.write_bps_device").write_text(
            f"{os.major(number)}:{os.minor(number)} 20000000"
        )
        four.nodes[3].group = group
        judge(four.check(*HOSTS, "--checkpoint", str(folder)), "node3", by="fact.storage_slow")
    finally:
        for disk in disks:
            subprocess.run(["losetup", "--detach", disk], check=False)
        for node in four.nodes:
            Path(f"/dev/shm/{node.namespace}.img").unlink(missing_ok=True)
        if group.exists():
            group.rmdir()


def _disk(node: Node, folder: Path) -> str:
    image = f"/dev/shm/{node.namespace}.img"
    subprocess.run(["truncate", "--size", "16G", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=1,nodiscard", image], check=True)
    show = ["losetup", "--find", "--show", image]
    disk = subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip()
    node.before = f"mount -o discard {disk} {folder};"
    return disk


def test_a_job_of_torchrun_on_one_host(tmp_path: Path) -> None:
    output, out = tmp_path / "report.json", tmp_path / "exclude"
    words = ["-m", "unhang", "check", "--format", "json", "-o", str(output)]
    words += ["--exclude-file", str(out), "--backend", "gloo"]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "8"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        launch += ["--master-port", str(free.getsockname()[1])]
    subprocess.run([*launch, *words], check=True, capture_output=True, timeout=300)
    data = json.loads(output.read_text("utf-8"))
    assert [s["name"] for s in data["stages"] if s["status"] == "fail"] == []
    (whole,) = [s for s in data["stages"] if s["name"] == "whole"]
    assert whole["status"] in ("pass", "warn")
    assert {row["operation"] for row in whole["measured"]["collectives"]} >= {"all_reduce"}
    assert out.read_text() == ""


@pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="no Open MPI: apt-get install openmpi-bin"
)
def test_a_job_of_mpirun(tmp_path: Path) -> None:
    """It binds each rank to a core: all cores of the host are theirs together."""
    output = tmp_path / "report.json"
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", sys.executable]
    words = ["-m", "unhang", "check", "--backend", "gloo", "--format", "json", "-o", str(output)]
    subprocess.run([*launch, *words], check=True, capture_output=True, timeout=300)
    data = json.loads(output.read_text("utf-8"))
    assert data["world_size"] == 2
    status = {s["name"]: s["status"] for s in data["stages"]}
    assert (status["cores"], status["whole"]) == ("pass", "pass")


@pytest.mark.skipif(find_spec("ray") is None, reason="no Ray: `make drill-check` installs it")
def test_a_cluster_of_ray(tmp_path: Path) -> None:
    """Two nodes of a real one, on this host: a placement group puts a rank on each."""
    output = tmp_path / "report.json"
    words = ["--backend", "gloo", "--format", "json", "-o", str(output)]
    done = subprocess.run([sys.executable, "-c", RAY, *words], capture_output=True, text=True,
                          timeout=380, check=False)  # fmt: skip
    assert output.exists(), done.stderr
    data = json.loads(output.read_text("utf-8"))
    assert data["world_size"] == 2
    assert [s["status"] for s in data["stages"] if s["name"] == "whole"] == ["pass"]
