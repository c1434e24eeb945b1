"""Host memory that does not suffice: the kernel kills, or an allocation is refused."""

from __future__ import annotations

import os
import resource
import signal

from ..declared import Fault

_MIB = 1 << 20
_V2 = "/sys/fs/cgroup"
_V1 = "/sys/fs/cgroup/memory"
_BLOCK = 16 * _MIB
_MOST = 2048 * _MIB


def exhaust(fault: Fault) -> None:
    """Allocate until the kernel kills this process.

    A control group of its own with `above_mib` (128) of head room makes it a real kill that costs
    no other process anything. Where no group can be made, the process allocates that much and
    then ends itself by the signal that the kernel would have sent.
    """
    room = int(fault.options.get("above_mib", 128)) * _MIB
    confined = _confine(_resident_bytes() + room)
    held = bytearray()
    while len(held) < (_MOST if confined else room):
        held.extend(b"\x01" * _BLOCK)
    os.kill(os.getpid(), signal.SIGKILL)


def limit(fault: Fault) -> None:
    """Refuse further memory of the address space, then ask for some, as a too large batch does."""
    import torch

    room = int(fault.options.get("above_mib", 256)) * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (_address_bytes() + room, resource.RLIM_INFINITY))
    torch.ones(4 * room, dtype=torch.uint8)


def _confine(limit_bytes: int) -> bool:
    """Move this process into a new control group; the drill removes it afterwards."""
    for root, name in ((_V1, "memory.limit_in_bytes"), (_V2, "memory.max")):
        group = f"{root}/unhang-drill-{os.getpid()}"
        try:
            os.mkdir(group)
            with open(f"{group}/{name}", "w") as file:
                file.write(str(limit_bytes))
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(os.getpid()))
        except OSError:
            continue
        return True
    return False


def _resident_bytes() -> int:
    return _statm(1)


def _address_bytes() -> int:
    return _statm(0)


def _statm(field: int) -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[field]) * resource.getpagesize()
