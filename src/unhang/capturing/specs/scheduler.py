"""What the scheduler knows of the job: Slurm by its commands, others by their variables."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.source_context import SourceContext, Stop, absent
from unhang.capturing.spec import About, Piece, Spec

_LIMIT_S = 5.0


def gather(context: SourceContext) -> Iterator[Piece]:
    """The job, its steps, and the node."""
    job = context.job.variable("SLURM_JOB_ID")
    if job is None or not job.isdigit():
        raise absent("no_job", scheduler="Slurm")
    node = context.job.variable("SLURMD_NODENAME") or ""
    asked = (
        ("slurm-job.txt", ("scontrol", "show", "job", "-d", job)),
        ("slurm-steps.txt", ("squeue", "--steps", "--job", job)),
        ("slurm-node.txt", ("scontrol", "show", "node", node)),
    )
    missing: Stop | None = None
    for name, words in asked:
        try:
            ran = context.said(*(word for word in words if word), limit_s=_LIMIT_S)
        except Stop as stop:  # noqa: PERF203 (each may be missing)
            missing = stop
        else:
            yield Piece(name=name, data=ran.out, cut=ran.cut)
    if missing is not None:
        raise missing


SPEC = Spec(name="scheduler", about=About.HOST, gather=gather, limit_s=12.0, order=6, lasting=True)
