"""Cures of ranks that disagree: different calls, groups that wait for each other, compilation."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure, GeneralCure, PatchLanguage, Recipe
from unhang.settings.versions import at_least

_BRANCH = """
# Wrong: only some ranks reach the collective, the others wait in their next one.
#     if rank == 0:
#         dist.broadcast(tensor, src=0)
# Right: every rank takes the same way, and the rank only chooses what it does inside.
should_stop = torch.tensor(int(rank == 0 and finished), device="cuda")
dist.broadcast(should_stop, src=0)
if should_stop.item():
    break_training = True
"""

_ORDER = """
# Wrong: rank 0 enters `pair` first and rank 1 the world group, and each waits in its own.
# Right: one list of calls in one order on all ranks; each leaves out the groups it is not in.
for tensor, group in ((partial, pair), (total, dist.group.WORLD)):
    if dist.get_rank(group) >= 0:
        dist.all_reduce(tensor, group=group)
"""

_WARM = """
# Caches on a local disk, filled by one process before the others start:
export TORCHINDUCTOR_CACHE_DIR=/local/inductor TRITON_CACHE_DIR=/local/triton
export TORCH_EXTENSIONS_DIR=/local/torch_extensions MAX_JOBS=8
find "${HOME}/.cache/torch_extensions" -name lock -delete  # a killed build leaves its lock
"""

_DEVICE = """
import os

import torch
import torch.distributed as dist

# torchrun, Open MPI (Horovod too), MPICH, Slurm: each has a name of its own.
NAMES = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
local_rank = next(int(os.environ[name]) for name in NAMES if name in os.environ)
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)  # before the group and before anything on the GPU
dist.init_process_group("nccl", device_id=device)  # torch 2.3 and later; else without device_id
"""

_VERSIONS = """
# On every node: all lines must be equal.
srun --ntasks-per-node=1 bash -c 'echo "$(hostname)" \\
  "$(python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())")" \\
  "$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | sort -u | paste -sd,)"'
"""  # noqa: E501

_CHANGE = """
# One step, one library at a time; note which change decides.
python -m pip install --upgrade nvidia-nccl-cu12   # then once with the release before
python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())"
"""


def _launch_order(case: RemedyContext) -> Recipe | None:
    """NCCL 2.26 brought the setting."""
    if at_least(case.nccl, "2.26") is False:
        return None
    settings = {"NCCL_LAUNCH_ORDER_IMPLICIT": "1"}
    return Recipe(form=PatchLanguage.ENV, settings=settings, device_only=True)


CURES: Mapping[Cure, GeneralCure] = {
    Cure.DETAIL: lambda _: Recipe(
        form=PatchLanguage.ENV,
        settings={"TORCH_DISTRIBUTED_DEBUG": "DETAIL", "TORCH_SHOW_CPP_STACKTRACES": "1"},
    ),
    Cure.OUT_OF_BRANCH: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_BRANCH.strip()),
    Cure.LAUNCH_ORDER: _launch_order,
    Cure.ONE_QUEUE: lambda _: Recipe(
        form=PatchLanguage.ENV, settings={"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, device_only=True
    ),
    Cure.SAME_ORDER: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_ORDER.strip()),
    Cure.WARM_CACHE: lambda _: Recipe(form=PatchLanguage.SHELL, text=_WARM.strip()),
    Cure.SET_DEVICE: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_DEVICE.strip()),
    Cure.SAME_VERSIONS: lambda _: Recipe(form=PatchLanguage.SHELL, text=_VERSIONS.strip()),
    Cure.CHANGE_VERSION: lambda _: Recipe(
        form=PatchLanguage.SHELL, text=_CHANGE.strip(), device_only=True
    ),
}
"""By cure; None where the case does not call for it."""
