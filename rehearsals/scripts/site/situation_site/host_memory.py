"""The host has memory for three processes with their data: the kernel kills one rank of four.

The job gets a control group whose limit is that, and the kernel is told to spare every other rank:
on a loaded host it ends a second one before the memory of the first is free. Where no group can
be made, that rank ends itself by the signal that the kernel would send.
"""

import os
import signal

from situation_site.moment import fault_begins
from situation_site.storage import this_rank

AFTER = "recbole.data"

_MIB = 1 << 20
_LIMITS = (
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max"),
)


def apply(module, settings):
    """Confine the job where it begins; in the ranks, tell the kernel and the drill who is meant."""
    confined = os.environ.get("SITUATION_CONFINED")
    if confined is None:
        copy = _anonymous() + settings["data_mib"] * _MIB
        room = _anonymous() + settings["copies"] * copy
        os.environ["SITUATION_CONFINED"] = str(_confine(room))
        return
    real = module.create_dataset

    def create_dataset(config):
        chosen = this_rank() == settings["rank"]
        if chosen or confined == "True":
            with open("/proc/self/oom_score_adj", "w") as adjusted:
                adjusted.write("900" if chosen else "-1000")
        if chosen:
            fault_begins("host_memory")
        dataset = real(config)
        if chosen and confined == "False":
            os.kill(os.getpid(), signal.SIGKILL)
        return dataset

    module.create_dataset = create_dataset


def _confine(room):
    """Move this process, and so its children, into a new control group."""
    for root, name in _LIMITS:
        group = f"{root}/unhang-drill-{os.getpid()}"
        try:
            os.mkdir(group)
            with open(f"{group}/{name}", "w") as limit:
                limit.write(str(room))
            with open(f"{group}/cgroup.procs", "w") as members:
                members.write(str(os.getpid()))
        except OSError:
            continue
        return True
    return False


def _anonymous():
    """Bytes that no file backs."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0
