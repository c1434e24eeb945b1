"""Reads files in a process of its own, for a read may hang where nothing can interrupt it.

Started as `python -I -S reading_child.py` by the same interpreter, which sends lists of `(action,
path, limit)` by `marshal`, and closes its standard input in the end. Says for each request its
number when it begins, so that its parent knows which one hangs, then a frame: a pair of what it
tells and the bytes, by `marshal`, after its length. Little is imported (no json, no pathlib): many
are started at once.

Actions: `head` and `tail` read at most `limit` bytes from the beginning or the end; `list` and
`links` tell the names in a folder, and where its links lead; `space` tells a file system's room.
"""

import marshal
import os
import stat
import sys

Told = dict[str, object]

_SPACE = ("f_frsize", "f_blocks", "f_bavail", "f_favail")
_PIECE = 1 << 20


def main() -> None:
    """Answer all requests in order."""
    while True:
        try:
            asked = marshal.load(sys.stdin.buffer)  # noqa: S302 (our own parent wrote it)
        except EOFError:
            return
        for number, (action, path, limit) in enumerate(asked):
            _say({"begins": number}, b"")
            head: Told = {"number": number}
            data = b""
            try:
                data, more = _answer(action, path, limit)
                head.update(more)
            except OSError as error:
                head["error"] = error.strerror or str(error)
                head["denied"] = isinstance(error, PermissionError)
                head["gone"] = isinstance(error, FileNotFoundError | ProcessLookupError)
            _say(head, data)


def _say(head: Told, data: bytes) -> None:
    frame = marshal.dumps((head, data))
    sys.stdout.buffer.write(len(frame).to_bytes(8, "little") + frame)
    sys.stdout.buffer.flush()


def _answer(action: str, path: str, limit: int) -> tuple[bytes, Told]:
    match action:
        case "list":
            return b"", {"told": _names(path, limit)}
        case "links":
            return b"", {"told": _links(path, limit)}
        case "space":
            room = os.statvfs(path)
            return b"", {"told": {name: getattr(room, name) for name in _SPACE}}
        case _:
            return _read(path, limit, from_end=action == "tail")


def _names(folder: str, limit: int) -> list[str]:
    """Numbers in their order, then other names in theirs."""
    names = os.listdir(folder)  # noqa: PTH208
    return sorted(names, key=lambda n: (not n.isdigit(), len(n), n))[:limit]


def _links(folder: str, limit: int) -> dict[str, str]:
    found = {}
    for name in _names(folder, limit):
        try:
            found[name] = os.readlink(f"{folder}/{name}")  # noqa: PTH115
        except OSError:  # noqa: PERF203
            continue  # closed meanwhile, or no link
    return found


def _read(path: str, limit: int, *, from_end: bool) -> tuple[bytes, Told]:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        told = os.fstat(handle)
        if not stat.S_ISREG(told.st_mode):  # reading a pipe would take its bytes from others
            raise OSError(0, "it is not a regular file")
        start = max(0, told.st_size - limit) if from_end else 0
        os.lseek(handle, start, os.SEEK_SET)
        pieces: list[bytes] = []
        left = limit
        while left > 0 and (piece := os.read(handle, min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
        cut = start > 0 or (left == 0 and bool(os.read(handle, 1)))
        return b"".join(pieces), {"size": told.st_size, "modified": told.st_mtime, "cut": cut}
    finally:
        os.close(handle)


if __name__ == "__main__":
    main()
