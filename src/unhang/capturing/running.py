"""Looks at a job that runs now, without touching it, and judges what it sees."""

from __future__ import annotations

import dataclasses
import importlib
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from unhang.capturing.jobs import RunningJob
from unhang.model.capture import SUFFIX, Fate, Manifest
from unhang.model.diagnosis import Diagnosis
from unhang.model.ids import Ranks
from unhang.model.provenance import Message

T = TypeVar("T")

LOOK_S = 20.0
"""Most seconds for the looks; on a machine that is not overloaded they take 3 to 5."""
_JUDGE = "unhang.api"
_STACKS = "stacks"
_SOURCES = frozenset(
    {
        *("environment", "faulthandler", "flight-recorder", "gpus", "kernel-log", "memory"),
        *("output", "proc", "nccl-ras", "scheduler", _STACKS, "versions"),
    }
)
_OPEN = ("1", "2")
"""Standard output and error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningVerdict:
    """What was seen of a job that runs.

    Attributes:
        diagnosis: the verdict.
        job: which was looked at.
        took_s: for everything.
        quiet_s: since anything was written into the files of its output; None = not to be told.
        lacks: why stacks of ranks are missing, with the remedy, each once.
        without: ranks of which no stack could be read.
    """

    diagnosis: Diagnosis
    job: RunningJob
    took_s: float
    quiet_s: float | None = None
    lacks: tuple[Message, ...] = ()
    without: Ranks = frozenset()


def diagnose_running(
    job: RunningJob,
    *,
    framework: str | None = None,
    model: str | None = None,
    limit_s: float = LOOK_S,
) -> RunningVerdict:
    """Look twice at each process of a job, and judge. The job goes on as it was.

    Args:
        job: of this host, as `unhang.capturing.jobs` finds it.
        framework: where the caller knows better than the job shows.
        model: what is trained; see `unhang.diagnose`.
        limit_s: seconds for the looks.

    Raises:
        UsageError: its processes have ended, or cannot be seen.
    """
    from unhang.capturing import capture

    begun, loading = time.monotonic(), load_judge()
    with tempfile.TemporaryDirectory(prefix="unhang-look-") as folder:
        bundle = Path(folder) / f"look{SUFFIX}"
        result = capture(pids=job.pids, out=bundle, limit_s=limit_s, sources=_SOURCES, gentle=True)
        loading.join()
        from unhang.api import diagnose

        found = diagnose(str(bundle), framework=framework, model=model)
        diagnosis = _without_folder(found, f"{bundle}!")
    without, lacks = _lacks(result.manifest)
    return RunningVerdict(
        diagnosis=diagnosis,
        job=job,
        took_s=time.monotonic() - begun,
        quiet_s=_quiet_s([p.pid for p in result.manifest.processes]),
        lacks=lacks,
        without=without,
    )


def load_judge() -> threading.Thread:
    """Begin to load what judges: that takes as long as a look, most of which is waiting."""
    loading = threading.Thread(target=importlib.import_module, args=(_JUDGE,), daemon=True)
    loading.start()
    return loading


def _without_folder(node: T, prefix: str) -> T:
    """The same data with the names of files as they are in the bundle, which is gone by then."""
    if isinstance(node, tuple):
        return cast("T", tuple(_without_folder(item, prefix) for item in node))
    if not dataclasses.is_dataclass(node) or isinstance(node, type):
        return node
    changed: dict[str, object] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, str) and field.name == "artifact":
            fresh: object = value.removeprefix(prefix)
        else:
            fresh = _without_folder(value, prefix)
        if fresh is not value and field.init:
            changed[field.name] = fresh
    return cast("T", dataclasses.replace(node, **changed)) if changed else node


def _lacks(manifest: Manifest) -> tuple[Ranks, tuple[Message, ...]]:
    """Ranks without a stack, and why."""
    ranks = {f"rank {p.rank}": p.rank for p in manifest.processes if p.rank is not None}
    missing = [
        entry
        for entry in manifest.entries
        if entry.source == _STACKS and entry.fate is not Fate.TAKEN and entry.why is not None
    ]
    why = {repr(entry.why): entry.why for entry in missing if entry.why is not None}
    return frozenset(ranks[e.subject] for e in missing if e.subject in ranks), tuple(why.values())


def _quiet_s(pids: list[int]) -> float | None:
    """For how long nothing was written into the files that standard output and error go to."""
    streams = (Path(f"/proc/{pid}/fd/{stream}") for pid in pids for stream in _OPEN)
    written = [at for stream in streams if (at := _written_s(stream)) is not None]
    return max(0.0, time.time() - max(written)) if written else None


def _written_s(stream: Path) -> float | None:
    try:
        return stream.stat().st_mtime if stream.is_file() else None
    except OSError:
        return None
