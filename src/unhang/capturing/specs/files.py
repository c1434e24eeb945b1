"""What each rank has open, on which file systems, and how much room they have.

Nothing is opened: links and `/proc` tell the files. Only `statvfs` asks a file system, one by one,
in a process that may hang: a file system that does not answer is what one looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from unhang.capturing.processes import JobProcess
from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, unreadable
from unhang.capturing.spec import About, Piece, Spec

_MOST_FILES = 4_000
_MOST_SHOWN = 400
_MOST_ASKED = 24
_FLAGS = re.compile(r"^flags:\s*0?(?P<flags>[0-7]+)", re.MULTILINE)
_POSITION = re.compile(r"^pos:\s*(?P<pos>\d+)", re.MULTILINE)
_ACCESS = {0: "read", 1: "write", 2: "read-write"}
_ESCAPE = re.compile(r"\\(?P<code>[0-7]{3})")
_UNREAL = frozenset(
    {
        *("proc", "sysfs", "devpts", "cgroup", "cgroup2", "mqueue", "securityfs", "debugfs"),
        *("tracefs", "bpf"),
    }
)


def gather(context: SourceContext) -> Iterator[Piece]:
    """Open files, and the mounts that they, the working folder and the arguments lie on."""
    process = context.process
    assert process is not None
    listed = context.one(ReadRequest(f"/proc/{process.pid}/fd", "links", _MOST_FILES))
    if listed.error is not None:
        raise unreadable(listed)
    links = listed.links
    yield Piece(name="files.txt", data=_open_files(context, process, links).encode())
    yield Piece(name="mounts.txt", data=_mounts(context, process, links).encode())


def _open_files(context: SourceContext, process: JobProcess, links: dict[str, str]) -> str:
    """Files with access and position; sockets and the like are counted."""
    real = {fd: target for fd, target in links.items() if target.startswith("/")}
    shown = list(real)[:_MOST_SHOWN]
    infos = {
        a.request.path.rpartition("/")[2]: a.text
        for a in context.heads([f"/proc/{process.pid}/fdinfo/{fd}" for fd in shown])
    }
    lines = [f"fd access position path    (pid {process.pid})"]
    lines.extend(f"{fd} {_access(infos.get(fd, ''))} {real[fd]}" for fd in shown)
    kinds: dict[str, int] = {}
    for target in links.values():
        if not target.startswith("/"):
            kind = target.partition(":")[0]
            kinds[kind] = kinds.get(kind, 0) + 1
    lines.append("others: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())))
    return "\n".join(lines) + "\n"


def _access(info: str) -> str:
    flags, position = _FLAGS.search(info), _POSITION.search(info)
    how = "-" if flags is None else _ACCESS.get(int(flags["flags"], 8) & 3, "-")
    return f"{how} {'-' if position is None else position['pos']}"


def _mounts(context: SourceContext, process: JobProcess, links: dict[str, str]) -> str:
    answer = context.one(ReadRequest(f"/proc/{process.pid}/mountinfo", limit=context.limit_bytes))
    mounts = dict(_mount(line) for line in answer.text.splitlines() if " - " in line)
    folders = _folders(context, process, links)
    used = list(dict.fromkeys(m for f in folders if (m := _mount_of(f, mounts)) is not None))
    asked = [point for point in used if mounts[point][0] not in _UNREAL][:_MOST_ASKED]
    lines = ["mount type source size_GiB free_GiB free_inodes"]
    root = f"/proc/{process.pid}/root"
    for told in context.read(*(ReadRequest(root + point, "space") for point in asked)):
        point = told.request.path.removeprefix(root)
        kind, source = mounts[point]
        room = "does not answer" if told.stalled else told.error or _room(told.space)
        lines.append(f"{point} {kind} {source} {room}")
    return "\n".join(lines) + "\n"


def _mount(line: str) -> tuple[str, tuple[str, str]]:
    front, _, behind = line.partition(" - ")
    kind, source = behind.split(" ")[:2]
    return _plain(front.split(" ")[4]), (kind, _plain(source))


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match["code"], 8)), text)


def _folders(context: SourceContext, process: JobProcess, links: dict[str, str]) -> list[str]:
    """Where the process works and writes: working folder, open files, paths it was given."""
    answer = context.one(ReadRequest(f"/proc/{process.pid}", "links", 200))
    working = answer.links.get("cwd", "/")
    given = [word.rpartition("=")[2] for word in process.words]
    paths = [working, *(p for p in given if p.startswith("/")), "/dev/shm", "/tmp"]  # noqa: S108
    opened = (t for t in links.values() if t.startswith("/") and not t.startswith("/dev/"))
    return [*paths, *opened]


def _mount_of(path: str, mounts: dict[str, tuple[str, str]]) -> str | None:
    for part in (path, *map(str, PurePosixPath(path).parents)):
        if part in mounts:
            return part
    return None


def _room(told: dict[str, int]) -> str:
    block = told["f_frsize"]
    size, free = told["f_blocks"] * block, told["f_bavail"] * block
    return f"{size / 2**30:.1f} {free / 2**30:.1f} {told['f_favail']}"


SPEC = Spec(name="files", about=About.RANK, gather=gather, limit_s=8.0, order=5)
