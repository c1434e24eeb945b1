"""The board: a small memory-mapped file on which a probe pins its last beat, for the agent to read.

One writer, any number of readers, no lock: the writer makes `turn` odd, writes, makes it even. A
reader that meets an odd or a changed `turn` tries again. A frozen writer leaves its last beat.

Layout, little endian: magic `UNHB` | u32 version | u64 turn | u64 beats | f64 monotonic seconds of
the last beat | u32 length | JSON in UTF-8. Its last 256 bytes hold the last call, which the main
thread writes there itself, so that it outlives a process that dies in it: u64 number | UTF-8.
"""

import json
import mmap
import os
import struct
from typing import Any, Dict, NamedTuple, Optional, Tuple  # noqa: UP035 (Python 3.8)

SIZE = 1 << 16
"""Bytes of the whole file."""

MAGIC, VERSION = b"UNHB", 2
_HEAD = struct.Struct("<4sIQQdI")
_TURN = struct.Struct("<Q")
_TURN_AT = 8
_CALL = struct.Struct("<Q248s")
_CALL_AT = SIZE - _CALL.size
ROOM = _CALL_AT - _HEAD.size
"""Bytes that a beat may take."""

_TRIES = 8


class Pinned(NamedTuple):
    """What a reader finds.

    Attributes:
        beats: their number so far.
        monotonic_s: the writer's clock.
        last_call: number and text of the last call of its main thread; "" = unknown.
    """

    beats: int
    monotonic_s: float
    beat: Dict[str, Any]  # noqa: UP006
    last_call: Tuple[int, str] = (0, "")  # noqa: UP006


class Board:
    """The writer's side.

    Args:
        path: the file; it is made, or emptied when a process of the same number left one.

    Raises:
        OSError: the file cannot be made or mapped.
    """

    def __init__(self, path: str) -> None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Blocks are allocated now: a disk that fills up later would kill us with SIGBUS.
            os.posix_fallocate(handle, 0, SIZE)
            self._map = mmap.mmap(handle, SIZE)
        finally:
            os.close(handle)
        self._turn = 0
        self._beats = 0

    def pin(self, beat: Dict[str, Any], monotonic_s: float) -> bool:  # noqa: UP006
        """Show a beat; False when it is larger than the board and the last one stays."""
        text = json.dumps(beat, separators=(",", ":"), default=str).encode("utf-8", "replace")
        if len(text) > ROOM:
            return False
        self._beats += 1
        self._mark(self._turn + 1)
        head = _HEAD.pack(MAGIC, VERSION, self._turn, self._beats, monotonic_s, len(text))
        self._map[: _HEAD.size] = head
        self._map[_HEAD.size : _HEAD.size + len(text)] = text
        self._mark(self._turn + 1)
        return True

    def note_call(self, number: int, text: bytes) -> None:
        """Keep the last call; no system call, and nothing to wait for."""
        _CALL.pack_into(self._map, _CALL_AT, number, text)

    def close(self) -> None:
        """Let go of the file; it stays for the readers."""
        self._map.close()

    def _mark(self, turn: int) -> None:
        self._turn = turn
        _TURN.pack_into(self._map, _TURN_AT, turn)


def read(path: str) -> Optional[Pinned]:  # noqa: UP045
    """Return what is pinned, or None: nothing yet, not a board, or being rewritten all the time.

    Raises:
        OSError: the file cannot be read.
    """
    for _ in range(_TRIES):
        with open(path, "rb") as file:
            data = file.read(SIZE)
            file.seek(_TURN_AT)
            after = file.read(_TURN.size)
        if len(data) < _HEAD.size:
            return None
        magic, version, turn, beats, monotonic_s, length = _HEAD.unpack_from(data)
        if magic != MAGIC or version != VERSION or length > ROOM:
            return None
        if turn % 2 or after != data[_TURN_AT : _TURN_AT + _TURN.size]:
            continue
        try:
            beat = json.loads(data[_HEAD.size : _HEAD.size + length])
        except ValueError:
            return None
        if not isinstance(beat, dict):
            return None
        return Pinned(beats, monotonic_s, beat, _last_call(data))
    return None


def _last_call(data: bytes) -> Tuple[int, str]:  # noqa: UP006
    if len(data) < SIZE:
        return 0, ""
    number, text = _CALL.unpack_from(data, _CALL_AT)
    return number, text.rstrip(b"\0").decode("utf-8", "replace")
