"""NET204, NET205 and the host that failed connections have in common."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang
from unhang.model.causes import Cause

_STEPS = [f"step {n} loss 2.1 grad_sync 3.{n}" for n in range(6)]
_MAP = "rank map: nx1=0-1 nx2=2-3 nx3=4-5 nx4=6-7"


def _links(rates: dict[str, float]) -> list[str]:
    row = "[  5]   0.00-5.00   sec   559 MBytes   {:.0f} Mbits/sec        receiver"
    return [x for pair, rate in rates.items() for x in (pair, row.format(rate))]


@pytest.mark.parametrize(
    ("rates", "host"),
    [
        ({"nx1 -> nx2": 9000, "nx2 -> nx3": 900, "nx3 -> nx4": 910, "nx4 -> nx1": 9100}, "nx3"),
        ({"--- nx1": 9400, "--- nx2": 9300, "--- nx3": 940, "--- nx4": 9390}, "nx3"),
        ({"nx1 -> nx2": 900, "nx2 -> nx3": 9000, "nx3 -> nx4": 910, "nx4 -> nx1": 9100}, None),
        ({"nx1 -> nx2": 9000, "nx2 -> nx3": 8100, "nx3 -> nx4": 7900, "nx4 -> nx1": 9100}, None),
        ({"nx2 -> nx3": 9000, "nx3 -> nx4": 910}, None),
    ],
    ids=["ring", "each", "no common host", "all alike", "too few"],
)
def test_the_host_that_all_slow_links_have(
    rates: dict[str, float], host: str | None, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text("\n".join([_MAP, *_STEPS]) + "\n")
    (tmp_path / "iperf.txt").write_text("\n".join(["$ cat iperf.log", *_links(rates)]) + "\n")
    found = unhang.diagnose(str(tmp_path))
    assert found.cause is (Cause.BANDWIDTH_LOW if host else None)
    assert found.culprits == ({4, 5} if host else set())


def test_what_differs_on_one_host_alone_is_a_hint(tmp_path: Path) -> None:
    answers = [f"nx{n}: mtu {1500 if n == 3 else 9000}" for n in range(1, 5)]
    asked = ["$ pdsh -w nx[1-4] 'ip link show bond0'", *answers]
    (tmp_path / "train.log").write_text("\n".join([_MAP, *_STEPS, *asked]) + "\n")
    found = unhang.diagnose(str(tmp_path))
    assert found.cause is None
    assert [c.cause for c in found.candidates] == [Cause.NET_INTERFACE]


@pytest.mark.parametrize(("third", "named"), [("nx3", {4, 5}), ("nx1", set[int]())])
def test_the_end_of_all_failed_connections(third: str, named: set[int], tmp_path: Path) -> None:
    lines = [_MAP]
    lines += [
        f"nx{n}:70:71 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.6.0.{n}<0>"
        for n in range(1, 5)
    ]
    broken = "NCCL WARN NET/IB : Got completion from peer 10.6.0.{}<48> with status=12 opcode=0"
    lines += [f"nx2:70:72 [0] transport/net_ib.cc:1295 {broken.format(3)}"]
    lines += [f"{third}:70:72 [0] transport/net_ib.cc:1295 {broken.format(4)}"]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    found = unhang.diagnose(str(tmp_path))
    assert found.cause is Cause.RDMA_FAULT
    assert found.culprits == named
