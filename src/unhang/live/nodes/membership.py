"""How many nodes run this command, and which one this is: told, or read from Slurm or its words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unhang.errors import UsageError

_COUNTS = ("--nnodes", "--num_machines", "--num-machines")
_RANKS = ("--node_rank", "--node-rank", "--machine_rank", "--machine-rank")
"""Options of torchrun and accelerate; `--nnodes 1:4` is a range."""

_COUNT_VARIABLES = ("PET_NNODES", "SLURM_STEP_NUM_NODES", "SLURM_NNODES")
_RANK_VARIABLES = ("PET_NODE_RANK", "SLURM_NODEID")


@dataclass(frozen=True, slots=True)
class Nodes:
    """Where we are.

    Attributes:
        count: None = nothing tells.
        rank: from 0.
    """

    count: int | None
    rank: int


def nodes_of(
    words: Sequence[str],
    environment: Mapping[str, str],
    count: int | None = None,
    rank: int | None = None,
) -> Nodes:
    """Find it out; what the user told us goes first.

    Args:
        words: of the launch command.
        environment: of this process.
        count: as told.
        rank: as told.

    Raises:
        UsageError: there is no node of that index.
    """
    counts = _numbers(words, _COUNTS, environment, _COUNT_VARIABLES)
    ranks = _numbers(words, _RANKS, environment, _RANK_VARIABLES)
    found = Nodes(
        count=next(counts, None) if count is None else count,
        rank=next(ranks, 0) if rank is None else rank,
    )
    if found.count is not None and found.rank >= found.count:
        raise UsageError(
            f"node {found.rank} of {found.count} nodes does not exist: they count from 0; check"
            " --nodes and --node-rank"
        )
    return found


def _numbers(
    words: Sequence[str],
    options: Sequence[str],
    environment: Mapping[str, str],
    variables: Sequence[str],
) -> Iterator[int]:
    for word, after in zip(words, (*words[1:], ""), strict=True):
        name, equals, value = word.partition("=")
        if name in options:
            yield from _number(value if equals else after)
    for variable in variables:
        yield from _number(environment.get(variable, ""))


def _number(text: str) -> Iterator[int]:
    last = text.rpartition(":")[2]
    if last.isdigit():
        yield int(last)
