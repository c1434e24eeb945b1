"""Wires the pipeline; prints nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from unhang.assemble import assemble
from unhang.engine.gather import gather
from unhang.model.diagnosis import Diagnosis, Stats
from unhang.ranking import rank
from unhang.rules import RULES
from unhang.sources.discover import discover


def diagnose(*paths: str) -> Diagnosis:
    """Judge what is left of a job.

    Args:
        paths: files, folders, globs or archives; `-` is standard input.

    Returns:
        The verdict on the last failed incarnation; earlier ones are in `earlier`.

    Raises:
        UsageError: a path does not exist, or there is nothing to read.
    """
    started = time.perf_counter()
    gathered = gather(discover(paths))
    incidents = assemble(gathered.events, len(gathered.artifacts))
    verdicts = [rank(i, [f for rule in RULES for f in rule.check(i)]) for i in incidents]
    return replace(
        verdicts[-1],
        earlier=tuple(verdicts[:-1]),
        problems=tuple(gathered.problems),
        stats=_stats(gathered.artifacts, len(gathered.events), started),
    )


def _stats(artifacts: Iterable[object], events: int, started: float) -> Stats:
    return Stats(
        files=sum(1 for _ in artifacts), events=events, seconds=time.perf_counter() - started
    )
