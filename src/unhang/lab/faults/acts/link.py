"""The network link of the node that this process runs on, in a network namespace of a drill."""

from __future__ import annotations

import subprocess

from ..declared import Fault

_PASS, _DROP = 4294967295, 2


def change(fault: Fault) -> None:
    """Do to `device` (eth0) what `do` says.

    `cut`: every packet is dropped silently, as by a firewall. `down`: the interface goes down.
    `lose`: one packet of `one_in` is dropped. `slow`: `rate` (as `tc` writes it).
    """
    device = str(fault.options.get("device", "eth0"))
    do = fault.options.get("do", "cut")
    if do == "down":
        _run("ip", "link", "set", "dev", device, "down")
    elif do == "slow":
        rate = str(fault.options.get("rate", "64kbit"))
        _run(
            *("tc", "qdisc", "add", "dev", device, "root"),
            *("tbf", "rate", rate, "burst", "16k", "latency", "400ms"),
        )
    else:
        _drop(device, 1 if do == "cut" else int(fault.options.get("one_in", 4)))


def _drop(device: str, one_in: int) -> None:
    """Drop packets in both directions by a filter of the kernel; `one_in` is a power of two.

    A few instructions of BPF (load a random number, keep its lowest bits, drop on 0) work on
    kernels that lack netem.
    """
    code = f"5,32 0 0 4294963256,84 0 0 {one_in - 1},21 0 1 0,6 0 0 {_DROP},6 0 0 {_PASS}"
    _run("tc", "qdisc", "add", "dev", device, "clsact")
    for way in ("ingress", "egress"):
        _run("tc", "filter", "add", "dev", device, way, "bpf", "da", "bytecode", code)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
