"""`unhang check` of four hosts in network namespaces: each fault is named, and nobody else.

Where the cores are taken a slow link is left undecided, so that these need a quiet machine, and
minutes: `make drill-check` runs them.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster import Cluster, cluster, may
from support.needs import NEEDS_TORCH

WHY_NOT = may() if os.environ.get("UNHANG_DRILL_CHECK") else "make drill-check runs them"
HOSTS = ("--hosts", "node[0-3]", "--join", "60")

pytestmark = [pytest.mark.integration, NEEDS_TORCH]
in_namespaces = pytest.mark.skipif(WHY_NOT is not None, reason=f"faults between hosts: {WHY_NOT}")


@pytest.fixture
def four(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as found:
        yield found


@in_namespaces
def test_healthy_hosts_are_green_again_and_again(four: Cluster) -> None:
    for _ in range(2):
        report = four.check(*HOSTS)
        bad = [s for s in report.data["stages"] if s["status"] in ("warn", "fail")]
        # On a machine whose cores are all taken a link may be left undecided, never accused.
        assert {s["id"] for s in bad} <= {"stage.link_unsure"}, report.faults()
        assert report.data["suspects"] == []
        assert [s["status"] for s in report.data["stages"] if s["name"] == "whole"] == ["pass"]
        assert report.data["pair_tests"] == 6
        assert {code for code, _ in report.ends} == {1 if bad else 0}


@in_namespaces
def test_a_slow_host(four: Cluster) -> None:
    rate = ("rate", "20mbit", "burst", "16k", "latency", "200ms")
    four.nodes[2].inside("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", *rate)
    report = four.check(*HOSTS)
    assert report.named == {"node2"}, report.faults()
    assert report.data["exclude"] == ["node2"]


@in_namespaces
def test_a_slow_link(four: Cluster) -> None:
    node, other = four.nodes[1], four.nodes[3]
    _slow_to(node.namespace, other.address)
    report = four.check(*HOSTS)
    assert report.named == {"node1 - node3"}, report.faults()
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
def test_a_host_that_loses_packets(four: Cluster) -> None:
    lose = ("-m", "statistic", "--mode", "random", "--probability", "0.03", "-j", "DROP")
    four.nodes[1].inside("iptables", "-A", "INPUT", "-p", "tcp", *lose)
    report = four.check(*HOSTS)
    assert report.named == {"node1"}, report.faults()


@in_namespaces
@pytest.mark.parametrize("value", ["lo", "eth7"])
def test_a_wrong_interface(value: str, four: Cluster) -> None:
    four.nodes[3].environment["GLOO_SOCKET_IFNAME"] = value
    report = four.check(*HOSTS)
    assert report.named == {"node3"}, report.faults()


@in_namespaces
def test_an_interface_that_the_others_do_not_share(four: Cluster) -> None:
    node = four.nodes[3]
    node.inside("ip", "link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
    node.inside("ip", "address", "add", "192.168.254.9/30", "dev", "eth1")
    node.inside("ip", "link", "set", "eth1", "up")
    node.environment["GLOO_SOCKET_IFNAME"] = "eth1"
    report = four.check(*HOSTS)
    assert report.named == {"node3"}, report.faults()


@in_namespaces
def test_a_host_behind_a_firewall(four: Cluster) -> None:
    node = four.nodes[2]
    node.inside("iptables", "-A", "INPUT", "-p", "tcp", "--syn", "-j", "DROP")
    node.inside("iptables", "-A", "OUTPUT", "-p", "tcp", "--syn", "!", "-d", four.nodes[0].address,
                "-j", "DROP")  # fmt: skip
    report = four.check(*HOSTS)
    assert report.named == {"node2"}, report.faults()


@in_namespaces
def test_a_host_that_cannot_reach_rank_0(four: Cluster) -> None:
    four.nodes[2].inside("iptables", "-A", "OUTPUT", "-p", "tcp", "--syn", "-j", "DROP")
    report = four.check("--hosts", "node[0-3]", "--join", "12")
    assert report.named == {"node2"}, report.faults()
    assert "rank 0 cannot be reached" in report.ends[2][1]
    assert report.ends[2][0] == 2


@in_namespaces
def test_a_dead_host(four: Cluster) -> None:
    four.nodes[3].dead = True
    report = four.check("--hosts", "node[0-3]", "--join", "12")
    assert report.named == {"node3"}, report.faults()


@in_namespaces
def test_a_small_shared_memory(four: Cluster) -> None:
    four.nodes[0].shm = "64m"
    report = four.check(*HOSTS)
    assert report.named == {"node0"}, report.faults()
    assert {s["id"] for s in report.data["stages"] if s["name"] == "shm" and s["host"] == "node0"} \
        == {"fact.shm_small"}  # fmt: skip


@in_namespaces
def test_too_few_cores(four: Cluster) -> None:
    four.nodes[1].cores = "0"
    report = four.check(*HOSTS, ranks=2)
    assert report.named == {"node1"}, report.faults()


@in_namespaces
def test_another_torch(four: Cluster, tmp_path: Path) -> None:
    told = tmp_path / "torch-2.7.1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1\n")
    four.nodes[2].environment["PYTHONPATH"] = str(tmp_path)
    report = four.check(*HOSTS)
    assert report.named == {"node2"}, report.faults()


@in_namespaces
def test_a_setting_that_one_host_has(four: Cluster) -> None:
    four.nodes[2].environment["NCCL_ALGO"] = "Tree"
    report = four.check(*HOSTS)
    assert report.named == {"node2"}, report.faults()


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
