"""Cures of processes: exceptions, memory of GPU and host, crashes, stops from outside."""

from __future__ import annotations

from collections.abc import Mapping

from unhang import lazy_re as re
from unhang.model.events import DeviceFault, PythonException, SettingSeen
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure, GeneralCure, PatchLanguage, Recipe
from unhang.settings import find_framework, frameworks
from unhang.settings.versions import at_least

_RECORD = """
from torch.distributed.elastic.multiprocessing.errors import record


@record  # torchrun then prints this rank's own traceback, and names the rank
def main() -> None: ...


if __name__ == "__main__":
    main()
"""

_FIX = """
import torch.distributed as dist

try:
    train()
except Exception:
    # Print first, then leave at once: the others are told, in place of waiting for the timeout.
    import os
    import traceback

    traceback.print_exc()
    print(f"rank {dist.get_rank()} leaves", flush=True)
    os._exit(1)
"""

_HOST_MEMORY = """
# The limit of the job, and how near it was:
cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.peak 2>/dev/null
free -g
# Slurm: all memory of the node.
sbatch --mem=0 job.sh
# Docker: docker run --memory=0; Kubernetes: resources.limits.memory
"""

_CRASH = """
export PYTHONFAULTHANDLER=1   # prints the Python stack of a crashing process
ulimit -c unlimited           # and leaves a core file
sysctl kernel.core_pattern    # where it lies
# gdb python CORE -batch -ex "thread apply all bt"
"""

_LIMIT = """
# A longer limit, a warning five minutes before it, and the job back in the queue:
#SBATCH --time=48:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
scontrol show job "$SLURM_JOB_ID" | grep -E "TimeLimit|Reason|Requeue"
"""

_REQUEUE = """
# Slurm puts a preempted job back into the queue, and adds to its log; the script must resume.
#SBATCH --requeue
#SBATCH --open-mode=append
"""

_PROCESSES = """
# As many processes on a node as GPUs that they see:
echo "${CUDA_VISIBLE_DEVICES:-all}"; nvidia-smi -L
# torchrun --nproc-per-node N; accelerate launch --num_processes N (all nodes together)
"""

_SESSION = """
tmux new-session -d -s train 'bash launch.sh > train.log 2>&1'
# or, without tmux:
# nohup setsid bash launch.sh > train.log 2>&1 &
"""


_ASKED = re.compile(r"Tried to allocate ([\d.]{1,12}) ([KMGT])iB")
_IDLE = re.compile(r"([\d.]{1,12}) ([KMGT])iB is reserved by PyTorch but unallocated")
_OLD_FORM = re.compile(r"total capacity; [\d.]{1,12} [KMGT]iB already allocated")
"""How PyTorch worded it before 2.1."""

_INSTALLED = re.compile(r"(site|dist)-packages|/lib/python\d")


def _fix_exception(case: RemedyContext) -> Recipe:
    """With the exception and the line that raised it, where the verdict's evidence holds them."""
    return Recipe(form=PatchLanguage.PYTHON, text=_FIX.strip(), told=_first_exception(case))


def _first_exception(case: RemedyContext) -> dict[str, object]:
    """Its name, and the innermost line of the user's own code."""
    for failure in case.incident.own_failures:
        if failure.rank is None or failure.rank not in case.culprits:
            continue
        for event in failure.events:
            if isinstance(event, PythonException) and event.frames and event.exception:
                own = [f for f in event.frames if not _INSTALLED.search(f.file)]
                frame = (own or event.frames)[-1]
                return {
                    "ranks": case.culprits,
                    "exception": event.exception,
                    "file": frame.file,
                    "line": frame.line,
                }
    return {}


def _stop_together(case: RemedyContext) -> Recipe:
    used = find_framework(case.framework)
    if used is not None and used.environment in ("ray-job", "ray-init"):
        return Recipe(form=PatchLanguage.ENV, settings={"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"})
    return Recipe(
        form=PatchLanguage.SHELL,
        text="# A rank that dies ends the job at once, on every node.\n"
        'srun --kill-on-bad-exit=1 torchrun --max-restarts=0 "$@"',
    )


def _is_whole(text: str) -> bool:
    """Whether less lies idle in the allocator than was asked for: nothing is in pieces."""
    asked, idle = _ASKED.search(text), _IDLE.search(text)
    return asked is not None and idle is not None and _mib(idle) < _mib(asked)


def _mib(match: re.Match[str]) -> float:
    return float(match[1]) * {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}[match[2]]


def _allocator(case: RemedyContext) -> Recipe | None:
    """Not beside engines that share memory between processes: they fail at start with it."""
    known = frameworks()
    refused = {word for name in case.beside if name in known for word in known[name].refuses}
    seen = (e.value for e in case.incident.all(SettingSeen) if e.name.endswith("ALLOC_CONF"))
    if "expandable_segments" in refused or any("expandable_segments:True" in v for v in seen):
        return None
    texts = [f.source.text for f in case.incident.all(DeviceFault)]
    if at_least(case.torch, "2.1") is False or any(_OLD_FORM.search(text) for text in texts):
        return None  # An older allocator stops at an option that it does not know.
    if texts and all(_is_whole(text) for text in texts):
        return None
    name = "PYTORCH_CUDA_ALLOC_CONF"
    if at_least(case.torch, "2.9"):
        name = "PYTORCH_ALLOC_CONF"
    return Recipe(form=PatchLanguage.ENV, settings={name: "expandable_segments:True"})


def _exclude_node(case: RemedyContext) -> Recipe | None:
    """Only where the evidence names a host."""
    if not case.hosts:
        return None
    hosts = ",".join(sorted(case.hosts))
    return Recipe(form=PatchLanguage.SHELL, text=f"sbatch --exclude={hosts} job.sh")


CURES: Mapping[Cure, GeneralCure] = {
    Cure.FIX_EXCEPTION: _fix_exception,
    Cure.RECORD_ERRORS: lambda _: Recipe(form=PatchLanguage.PYTHON, text=_RECORD.strip()),
    Cure.STOP_TOGETHER: _stop_together,
    Cure.SHARED_GPU: lambda _: Recipe(
        form=PatchLanguage.SHELL,
        text="nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory,process_name --format=csv",
    ),
    Cure.ALLOCATOR: _allocator,
    Cure.MORE_HOST_MEMORY: lambda _: Recipe(form=PatchLanguage.SHELL, text=_HOST_MEMORY.strip()),
    Cure.FAULT_HANDLER: lambda _: Recipe(form=PatchLanguage.SHELL, text=_CRASH.strip()),
    Cure.EXCLUDE_NODE: _exclude_node,
    Cure.LONGER_LIMIT: lambda _: Recipe(form=PatchLanguage.SHELL, text=_LIMIT.strip()),
    Cure.REQUEUE: lambda _: Recipe(form=PatchLanguage.SHELL, text=_REQUEUE.strip()),
    Cure.FEWER_PROCESSES: lambda _: Recipe(form=PatchLanguage.SHELL, text=_PROCESSES.strip()),
    Cure.KEEP_SESSION: lambda _: Recipe(form=PatchLanguage.SHELL, text=_SESSION.strip()),
}
"""By cure; None where the case does not call for it."""
