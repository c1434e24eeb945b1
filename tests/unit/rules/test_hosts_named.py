"""Ranks by the hosts that errors of several stacks tell of."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause


def _diagnosed(tmp_path: Path, *lines: str) -> tuple[Cause | None, set[int]]:
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    found = unhang.diagnose(str(tmp_path / "job.log"))
    return found.cause, set(found.culprits)


@pytest.mark.parametrize(("bridge", "named"), [("lxcbr0", {3}), ("", set[int]())])
def test_mpi_meets_at_a_bridge_of_one_host(bridge: str, named: set[int], tmp_path: Path) -> None:
    failed = "btl_tcp_endpoint.c:796:mca_btl_tcp_endpoint_complete_connect] connect() to 10.0.3.1"
    answers = [x for n in range(1, 5) for x in (f"c{n}", f"enp3s0  UP  192.168.1.3{n}/24")]
    told = _diagnosed(
        tmp_path,
        "$ mpiexec -np 4 -host c1,c2,c3,c4 python3 train.py",
        *(f"[c{n}][[99,1],{n - 1}][{failed} failed: Connection refused (111)" for n in (1, 2, 3)),
        '$ for h in c1 c2 c3 c4; do echo $h; ssh $h "ip -4 -br addr"; done',
        *answers,
        *([f"{bridge}   UP   10.0.3.1/24"] if bridge else []),
    )
    assert told == ((Cause.NET_INTERFACE, named) if named else (None, named))


def test_the_driver_of_another_release_is_not_broken_hardware(tmp_path: Path) -> None:
    error = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet"
    marks = [(f"r{n}@h{n // 2}0", n) for n in range(4)]
    told = _diagnosed(
        tmp_path,
        *(f"{mark} learner up, device cuda:{n % 2}" for mark, n in marks),
        *(f"{mark} Traceback (most recent call last):" for mark, n in marks[2:]),
        *(f"{mark} {error} initialized" for mark, n in marks[2:]),
        "$ ssh h10 systemctl status nvidia-fabricmanager",
        "fabric manager NVIDIA GPU driver interface version 550.1 don't match with driver version"
        " 550.2. Please update with matching NVIDIA driver package.",
    )
    assert told == (Cause.VERSION_MISMATCH, {2, 3})


@pytest.mark.parametrize(("last", "named"), [(22703, {2}), (22602, set[int]())])
def test_the_few_of_another_nccl(last: int, named: set[int], tmp_path: Path) -> None:
    versions = [22703, 22703, 22602, last]
    told = _diagnosed(
        tmp_path,
        *(
            f"s{n}:10{n}:11 [0] init.cc:1010 NCCL WARN Mismatched NCCL version detected : rank 2"
            f" version 22602 rank {n} version {version}"
            for n, version in enumerate(versions)
            if n != 2
        ),
    )
    assert told == (Cause.VERSION_MISMATCH, named)


def test_horovod_finds_no_interface_that_all_hosts_have(tmp_path: Path) -> None:
    names = {"edge1": "eth0", "edge2": "eth0", "edge3": "enxb8"}
    told = _diagnosed(
        tmp_path,
        "$ horovodrun -np 6 -H edge1:2,edge2:2,edge3:2 python train.py",
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3/horovod/run/common/util/network.py", line 172, in __init__',
        "horovod.run.common.util.network.NoValidAddressesFound: Horovod was unable to connect to"
        " horovod task service #0 on any of the following addresses: {'eth0': [('10.5.1.1', 4)]}.",
        '$ for h in edge1 edge2 edge3; do ssh $h "hostname; ifconfig -a"; done',
        *(
            text
            for n, (host, name) in enumerate(names.items())
            for text in (
                host,
                f"{name}: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500",
                f"        inet 10.5.1.{n + 1}  netmask 255.255.255.0",
            )
        ),
    )
    assert told == (Cause.NET_INTERFACE, {4, 5})
