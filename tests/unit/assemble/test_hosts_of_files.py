"""Kernel logs whose lines name no host, and whose name does."""

from __future__ import annotations

import pytest

from support.builders import by, source
from unhang.assemble.hosts_of_files import with_hosts_of_files
from unhang.model.events import Event, KernelEvent, KernelProblem, WorldSeen


def xid(artifact: str) -> Event:
    return KernelEvent(
        source=source(artifact=artifact), origin=by(), problem=KernelProblem.XID, xid=79
    )


JOB = [
    WorldSeen(source=source(), origin=by(host=host), world_size=16) for host in ("wx-3", "wx-04.ib")
]


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("dmesg_wx-04.txt", "wx-04"),
        ("logs/dmesg-wx-04.txt", "wx-04"),
        ("wx-3-kern.log", "wx-3"),
        ("dmesg_wx-05.txt", None),
        ("dmesg_wx-30.txt", None),
        ("dmesg.txt", None),
    ],
)
def test_a_kernel_log_is_of_the_host_that_its_name_holds(name: str, host: str | None) -> None:
    (*_, event) = with_hosts_of_files([*JOB, xid(name)])
    assert event.origin.host == host


def test_a_part_of_the_name_that_was_taken_for_the_host() -> None:
    part = KernelEvent(
        source=source(artifact="aa-wx-04.txt"),
        origin=by(host="04"),
        problem=KernelProblem.XID,
    )
    (*_, event) = with_hosts_of_files([*JOB, part])
    assert event.origin.host == "wx-04"
