"""Sources that are one program each: their whole answer is the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unhang.capturing.source_context import SourceContext
from unhang.capturing.spec import About, Piece, Spec

_COMMANDS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("gpu-topology", ("nvidia-smi", "topo", "-m"), 8.0),
    ("ibstat", ("ibstat",), 6.0),
    ("ibv-devinfo", ("ibv_devinfo",), 6.0),
    ("cpus", ("lscpu",), 3.0),
    ("numa", ("numactl", "--hardware"), 3.0),
    ("clock", ("chronyc", "tracking"), 3.0),
    ("gpu-fabric", ("nvidia-smi", "nvlink", "--status"), 8.0),
    ("amd-gpus", ("rocm-smi", "--showallinfo"), 10.0),
    ("ascend-npus", ("npu-smi", "info"), 10.0),
)
"""Name, words, seconds."""
_TELL_OF_THE_JOB = frozenset({"amd-gpus", "ascend-npus"})


def _gatherer(name: str, words: tuple[str, ...]) -> Callable[[SourceContext], Iterator[Piece]]:
    def gather(context: SourceContext) -> Iterator[Piece]:
        ran = context.said(*words)
        yield Piece(name=f"{name}.txt", data=ran.out, cut=ran.cut)

    return gather


SPECS: tuple[Spec, ...] = tuple(
    Spec(
        name=name,
        about=About.HOST,
        gather=_gatherer(name, words),
        limit_s=limit_s,
        order=6,
        lasting=name not in _TELL_OF_THE_JOB,
    )
    for name, words, limit_s in _COMMANDS
)
