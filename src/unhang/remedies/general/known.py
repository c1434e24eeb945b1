"""Remedies of well-known failures, and of those whose rank is found but not their cause."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.model.ids import format_ranks
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure, GeneralCure, PatchLanguage, Recipe
from unhang.settings import find_framework
from unhang.settings.frameworks import PLAIN

_EFA = """
# On each node: is the adapter there, and the same on all of them?
fi_info -p efa -t FI_EP_RDM | grep -E "provider|domain"
# The security group must allow all traffic to and from itself. In the job:
export FI_PROVIDER=efa
unset NCCL_PROTO NCCL_ALGO   # the plug-in chooses; forced values are a known cause of such ends
# In a container: the devices /dev/infiniband/uverbs*, and --ulimit memlock=-1
NCCL_DEBUG=INFO bash launch.sh 2>&1 | grep -E "NET/OFI (Selected|Using)"
"""

_NVML = """
# The container lacks the driver's management library. Docker:
docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility "$IMAGE"
# Without a container: the package of the driver's tools is missing; `nvidia-smi` must work.
ldconfig -p | grep libnvidia-ml
"""

_DRIVER = """
# What the driver supports, and what PyTorch was built for: the second must not be newer.
nvidia-smi | grep "CUDA Version"
python -c "import torch; print(torch.version.cuda, torch.cuda.nccl.version())"
# Then a newer driver (the administrator), or a PyTorch of the driver's CUDA:
# https://pytorch.org/get-started/previous-versions/
"""

_DISK = """
df -h . "${TMPDIR:-/tmp}" "$HOME" && df -i .
quota -s 2>/dev/null
# Old checkpoints first; then caches: du -xsh ~/.cache/* | sort -h | tail
"""

_WRITES = """
# On the host of the rank that wrote, in the folder of the file:
df -h . && df -i . && quota -s
touch .probe && dd if=/dev/zero of=.probe bs=1M count=64 conv=fsync; rm -f .probe
dmesg -T | grep -iE "nfs|lustre|ceph|gpfs|I/O error|read-only" | tail -n 20
"""

_MAPS = """
# As the administrator; each memory-mapped shard counts.
sysctl -w vm.max_map_count=1048576
echo vm.max_map_count=1048576 > /etc/sysctl.d/99-max-map-count.conf
"""

_FILES = """
# Before the first DataLoader, in every process: tensors travel by files, not by descriptors.
import torch.multiprocessing

torch.multiprocessing.set_sharing_strategy("file_system")
# Or more descriptors, in the shell that starts the ranks: ulimit -n 65536
"""

_GLOO = """
import torch
import torch.distributed as dist

# There is no NCCL for Windows, nor in CPU builds of PyTorch.
backend = "nccl" if dist.is_nccl_available() and torch.cuda.is_available() else "gloo"
dist.init_process_group(backend)
# On Windows with several GPUs: run it in WSL 2, which has NCCL.
"""

_LATE = """
# The others reached the store and waited there: look for the rank that did not come.
# Its log ends before theirs; did it fail, load, or never start?
grep -LE "init_process_group|Initializing|rank" logs/*    # a rank without a line never started
# On its host, while the job waits:
ps -eo pid,etime,stat,wchan:20,args | grep "[p]ython"
py-spy dump --pid "$PID"
"""

_RANK0 = """
import datetime

import torch.distributed as dist

# Once, on every rank, after init_process_group: a group with a limit of its own for the work that
# rank 0 does alone. Gloo waits on the CPU, and no NCCL call is under way meanwhile.
rank0_group = dist.new_group(backend="gloo", timeout=datetime.timedelta(hours={hours}))

# Around that work:
if dist.get_rank() == 0:
    # `model.module`, not `model`: the forward of DistributedDataParallel is a collective itself.
    # Under FSDP and ZeRO-3 every rank must take part: the weights are spread over them.
    evaluate(model.module)
dist.barrier(group=rank0_group)
"""


def _efa(_: RemedyContext) -> Recipe:
    return Recipe(form=PatchLanguage.SHELL, text=_EFA.strip())


def _consumer(_: RemedyContext) -> Recipe:
    return Recipe(
        form=PatchLanguage.ENV, settings={"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1"}
    )


def _rank0_work(case: RemedyContext) -> Recipe | None:
    """Only where the loop is the user's own."""
    framework = find_framework(case.framework)
    if framework is not None and not framework.own_loop and framework.name != PLAIN:
        return None
    seconds = 0.0 if case.work is None else case.work.seconds * 3
    hours = max(2, round(seconds / 3_600 + 0.5))
    return Recipe(form=PatchLanguage.PYTHON, text=_RANK0.strip().replace("{hours}", str(hours)))


def _look_at_rank(case: RemedyContext) -> Recipe | None:
    """Where to look at the rank that the verdict names."""
    if not case.culprits:
        return None
    ranks = format_ranks(case.culprits)
    hosts = " ".join(sorted(case.hosts))
    where = f" on {hosts}" if hosts else ""
    text = f"""
# Of rank {ranks}{where}: its own last lines, and what the kernel said.
tail -n 50 "$LOG_OF_RANK"
dmesg -T | grep -iE "out of memory|oom|killed process|segfault|xid|nvrm" | tail -n 20
# While it still hangs: what it does, and whether it moves (twice, ten seconds apart).
py-spy dump --pid "$PID"; sleep 10; py-spy dump --pid "$PID"
"""
    return Recipe(form=PatchLanguage.SHELL, text=text.strip(), told={"ranks": case.culprits})


def _shell(text: str) -> GeneralCure:
    return lambda _: Recipe(form=PatchLanguage.SHELL, text=text.strip())


CURES: Mapping[Cure, GeneralCure] = {
    Cure.EFA_CHECK: _efa,
    Cure.CONSUMER_GPU: _consumer,
    Cure.DRIVER_LIBRARY: _shell(_NVML),
    Cure.NEWER_DRIVER: _shell(_DRIVER),
    Cure.FREE_DISK: _shell(_DISK),
    Cure.WHY_NO_WRITE: _shell(_WRITES),
    Cure.MAP_COUNT: _shell(_MAPS),
    Cure.SHARE_BY_FILES: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_FILES.strip()),
    Cure.GLOO_BACKEND: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_GLOO.strip()),
    Cure.LATE_RANK: _shell(_LATE),
    Cure.RANK0_WORK: _rank0_work,
    Cure.LOOK_AT_RANK: _look_at_rank,
}
"""By cure; None where the case does not call for it."""
