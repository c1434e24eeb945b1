"""nvidia-smi lists two processes of the job on one GPU.

## What it finds
In the table of `nvidia-smi`: two processes with more than 1 GiB each on one GPU, while another GPU
of that host has none.

## Why it hangs
NCCL needs a GPU for each rank. Two ranks on one GPU are refused by recent versions and wait for
each other's kernels in older ones; the GPU's memory is shared as well.

## When it stays quiet
Processes with a bare context look at the GPU only. If every GPU has two processes, that is
intended: an inference engine beside the trainer. Unless both are known as ranks of this job it is a
hint.

## How to confirm
Print `os.environ["LOCAL_RANK"]`, `CUDA_VISIBLE_DEVICES` and `torch.cuda.current_device()` in every
process.

## What to do
`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before `init_process_group` or any CUDA call.

## References
`nvidia-smi(1)`; PyTorch documentation, `torchrun`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.events import GpuProcess, GpuState
from unhang.model.ids import Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import gpu_use, speakers


@rule("DEV202", "gpu-shared-by-processes", cause=Cause.DEVICE_MAP, needs={Fact.GPU_TABLE})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the first GPU that two processes share."""
    by_gpu = gpu_use.processes(incident)
    for (artifact, host, gpu), processes in by_gpu.items():
        listed = {
            s.index
            for s in incident.all(GpuState)
            if (s.source.artifact, s.origin.host) == (artifact, host)
        }
        unused = {index for index in listed if (artifact, host, index) not in by_gpu}
        if len(processes) > 1 and unused:
            yield _finding(incident, gpu, processes)
            return


def _finding(incident: Incident, gpu: int, processes: Sequence[GpuProcess]) -> Finding:
    known = gpu_use.ranks_by_pid(incident)
    ranks: Ranks = frozenset(known[p.pid] for p in processes if p.pid in known)
    sure = len(ranks) > 1
    return check.finding(
        Strength.SUPPORTS if sure else Strength.HINTS,
        claim=say(
            "DEV202.claim",
            "{ranks:ranks} compute on one GPU, number {gpu} of nvidia-smi's table.",
            ranks=ranks,
            gpu=gpu,
        )
        if sure
        else say(
            "DEV202.claim_unknown",
            "{count} processes compute on GPU {gpu}, while another GPU has none.",
            count=len(processes),
            gpu=gpu,
        ),
        why=say(
            "DEV202.why",
            "NCCL needs a GPU for each rank; two on one wait for each other's kernels.",
        ),
        against=None
        if sure
        else say("DEV202.against", "Nothing shows whether both processes belong to this job."),
        culprits=ranks if sure else frozenset(),
        culprit_hosts=speakers.hosts(processes),
        evidence=processes,
    )
