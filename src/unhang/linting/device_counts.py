"""How many GPUs a launch can see on a node, and how many processes it starts there."""

from __future__ import annotations

from collections.abc import Callable

from unhang import lazy_re as re

_GRANTED = re.compile(
    r"^#SBATCH\s+(?:.*\s)?(?:--gres[= ]gpu|--gpus-per-node[= ])(?::?[A-Za-z][\w.-]*)?:?(\d{1,4})\b",
    re.MULTILINE,
)
PER_NODE = ("nproc_per_node", "num_gpus")
"""Options that count the processes of one node; a DeepSpeed launcher leaves visible GPUs aside."""


def visible(value: str | None) -> int | None:
    """Devices in a value of `CUDA_VISIBLE_DEVICES`; None where it does not tell.

    >>> visible("0,1,2"), visible("5,7"), visible("$GPUS"), visible("all")
    (3, 2, None, None)
    """
    parts = (value or "").strip("\"'").split(",")
    told = all(part.strip().isdigit() or part.strip().startswith("GPU-") for part in parts)
    return len(parts) if told else None


def granted(script: str) -> int | None:
    """GPUs that a Slurm batch script asks for on each node.

    >>> granted("#SBATCH --gres=gpu:a100:4"), granted("#SBATCH --nodes=2")
    (4, None)
    """
    found = {int(match[1]) for match in _GRANTED.finditer(script)}
    return found.pop() if len(found) == 1 else None


def started(value: Callable[[str], str | None]) -> tuple[str, int, int] | None:
    """The option that counts processes, its number, and on how many nodes; None where unclear.

    Args:
        value: the value in force for an option, as text.
    """
    for key in ("nproc_per_node", "num_processes"):
        told = value(key)
        if told is None:
            continue
        nodes = "1" if key in PER_NODE else value("num_machines") or "1"
        return (key, int(told), int(nodes)) if (told + nodes).isdigit() and int(nodes) else None
    return None
