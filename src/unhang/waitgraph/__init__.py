"""From a snapshot of a job to what its waits come to; the same for living and dead jobs."""

from unhang.waitgraph.analysis import analyse
from unhang.waitgraph.graph import WaitGraph
from unhang.waitgraph.merging import merge

__all__ = ["WaitGraph", "analyse", "merge"]
