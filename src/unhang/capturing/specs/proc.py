"""What the kernel tells of each process: state, wait, limits, I/O, and which threads work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, sections, unreadable
from unhang.capturing.spec import About, Piece, Spec

_FILES = (
    *("status", "stack", "wchan", "syscall", "limits", "io", "sched", "schedstat", "statm"),
    *("oom_score", "oom_score_adj", "cgroup"),
)
_MOST_THREADS = 600
_BETWEEN_S = 1.0
_TICKS = slice(11, 13)
_HEAD = "tid name state wait cpu_ticks cpu_ticks_in_{seconds:.1f}s"


def gather(context: SourceContext) -> Iterator[Piece]:
    """One file for the process, one for its threads."""
    process = context.process
    assert process is not None
    folder = f"/proc/{process.pid}"
    data, missing = sections(context.heads([f"{folder}/{name}" for name in _FILES]))
    if data:
        yield Piece(name="proc.txt", data=data)
    text = _threads(context, folder)
    if text:
        yield Piece(name="threads.txt", data=text.encode())
    if missing is not None:
        raise missing


def _threads(context: SourceContext, folder: str) -> str:
    """Read twice: a thread whose ticks grow works, one whose ticks stand waits."""
    listed = context.one(ReadRequest(f"{folder}/task", "list", _MOST_THREADS))
    if listed.error is not None:
        raise unreadable(listed)
    tids = listed.names
    before = _read(context, folder, tids)
    context.pause(_BETWEEN_S)
    after = _read(context, folder, tids)
    lines = [_HEAD.format(seconds=_BETWEEN_S)]
    lines.extend(_line(tid, before[tid], after.get(tid)) for tid in tids if tid in before)
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""


def _read(context: SourceContext, folder: str, tids: list[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    paths = [f"{folder}/task/{tid}/{name}" for tid in tids for name in ("stat", "wchan")]
    for answer in context.heads(paths):
        if answer.error is None:
            *_, tid, name = answer.request.path.split("/")
            found.setdefault(tid, {})[name] = answer.text
    return {tid: told for tid, told in found.items() if "stat" in told}


def _line(tid: str, before: Mapping[str, str], after: Mapping[str, str] | None) -> str:
    name = before["stat"].partition("(")[2].rpartition(")")[0].replace(" ", "_")
    state = before["stat"].rpartition(")")[2].split()[0]
    used = _ticks(before["stat"])
    moved = "ended" if after is None else str(_ticks(after["stat"]) - used)
    wait = before.get("wchan", "").strip() or "-"
    return f"{tid} {name} {state} {wait} {used} {moved}"


def _ticks(stat: str) -> int:
    """Ticks of CPU in user and kernel mode."""
    return sum(int(field) for field in stat.rpartition(")")[2].split()[_TICKS])


SPEC = Spec(name="proc", about=About.PROCESS, gather=gather, limit_s=8.0, order=1)
