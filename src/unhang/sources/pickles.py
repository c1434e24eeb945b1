"""From pickled files of strangers to plain data: nothing in them is ever called.

A pickle is a program. The reader here knows no name that such a program could call, and its memory
is bounded while it runs. What a damaged file holds before the damage is read by a small machine of
its own, which knows only the opcodes of plain data, and only texts and numbers as keys. A file
whose keys might be tuples of tuples is read by that machine as well, slowly.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn, cast

from unhang.errors import ArtifactError, UnsafeArtifact
from unhang.sources import pickle_chains

_MOST_BYTES = 2 << 30
_PIECE = 4 << 20
_MOST_MEMORY = 512 << 20
_MEMORY_PER_BYTE = 64
_BUFFER = 256 << 10


class Damaged(ArtifactError):
    """The pickle ends too early or is no pickle."""


class _OddKey(Damaged):
    """A key whose hash may take for ever."""


class _Refusing(pickle.Unpickler):
    """Reads dictionaries, lists, tuples, texts and numbers, and refuses all else."""

    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise _carries_code(f"{module[:60]}.{name[:60]}")

    def persistent_load(self, pid: object, /) -> NoReturn:
        told = pid[:60] if isinstance(pid, str) else type(pid).__name__
        raise UnsafeArtifact(f"it refers to an object outside itself ({told}); refused")


def _carries_code(name: str) -> UnsafeArtifact:
    return UnsafeArtifact(
        f"it carries code ({name}), which no recorder writes; it was refused and nothing in it was"
        " run. Find out who wrote it",
        carries=name,
    )


def _read(stream: IO[bytes]) -> bytes:
    """At most the largest file; never asks for more memory than there is to read."""
    data = bytearray()
    while len(data) < _MOST_BYTES and (piece := stream.read(_PIECE)):
        data += piece
    return bytes(data)


def load_plain(open_: Callable[[], IO[bytes]], size: int | None) -> object:
    """Read a pickle of plain data.

    Args:
        open_: gives a stream at its start.
        size: bytes of the file, where known.

    Raises:
        UnsafeArtifact: it carries code, or needs too much memory.
        Damaged: it is cut or no pickle; `salvage` may read the part before.
    """
    if size is not None and size > _MOST_BYTES:
        raise UnsafeArtifact(f"it is larger than {_MOST_BYTES >> 30} GiB; it was refused")
    with io.BufferedReader(cast("io.RawIOBase", open_()), _BUFFER) as stream:
        data = _read(cast("IO[bytes]", stream))
    if pickle_chains.may_chain(data):
        with _bounded(len(data)):
            return _run(data).result()
    del data
    # The unpickler reads fastest from a buffered file; from `BytesIO` it takes three times as long.
    with io.BufferedReader(cast("io.RawIOBase", open_()), _BUFFER) as stream:
        try:
            with _bounded(size or 0):
                return _Refusing(stream).load()
        except (ArtifactError, OSError):
            raise
        except MemoryError as error:
            raise UnsafeArtifact("it asks for far more memory than it holds; refused") from error
        except Exception as error:  # damaged pickles raise nearly anything
            raise Damaged(f"it is damaged ({type(error).__name__}: {error})") from error


@contextmanager
def _bounded(size: int) -> Iterator[None]:
    """Bound the address space: a few bytes may ask for a memo of many gigabytes."""
    try:
        import resource

        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 (read thousands of times)
            used = int(statm.read().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        yield
        return
    limit = used + _MOST_MEMORY + _MEMORY_PER_BYTE * size
    if soft not in (resource.RLIM_INFINITY, -1):
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def salvage(data: bytes) -> object:
    """Read what a damaged pickle holds before the damage; None where that is nothing.

    Raises:
        UnsafeArtifact: it carries code.
    """
    return _run(data).close()


def _run(data: bytes) -> _Machine:
    """Let the machine run to the end, or to the damage."""
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            machine.step(opcode.name, argument)
    except UnsafeArtifact:
        raise
    except Exception as error:
        machine.damage = error
    return machine


_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], object]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_ONE_BY_ONE = {"APPEND": 1, "SETITEM": 2}
_PUT = frozenset({"BINPUT", "LONG_BINPUT", "PUT", "MEMOIZE"})
_GET = frozenset({"BINGET", "LONG_BINGET", "GET"})
_FOLD = frozenset({"SETITEMS", "APPENDS", "TUPLE"})
_IGNORED = frozenset({"PROTO", "FRAME", "STOP"})
_PLAIN_KEYS = (str, int, float, bytes, type(None))
_CODE = frozenset(
    {
        *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX"),
        *("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4"),
    }
)


class _Machine:
    """The part of the pickle machine that makes plain data."""

    def __init__(self) -> None:
        self._stack: list[object] = []
        self._memo: dict[object, object] = {}
        self.damage: Exception | None = None

    def step(self, name: str, argument: object) -> None:
        """Run one opcode."""
        if name in _CODE:
            raise _carries_code(self._code(name, argument))
        if name in _EMPTY:
            self._stack.append(_EMPTY[name]())
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _PUT:
            self._memo[len(self._memo) if argument is None else argument] = self._stack[-1]
        elif name in _GET:
            self._stack.append(self._memo[argument])
        elif name in _FOLD:
            self._fold(as_tuple=name == "TUPLE")
        elif name in _ONE_BY_ONE:
            self._add(_ONE_BY_ONE[name])
        elif name in _TUPLES:
            items = self._stack[-_TUPLES[name] :]
            self._stack[-_TUPLES[name] :] = [tuple(items)]
        elif name not in _IGNORED:
            self._push(name, argument)

    def _code(self, opcode: str, argument: object) -> str:
        """What would be called, where it is told by name; else how."""
        if opcode == "STACK_GLOBAL":
            return ".".join(str(part)[:60] for part in self._stack[-2:] if isinstance(part, str))
        told = argument if isinstance(argument, str) else opcode.lower()
        return told[:120].replace(" ", ".")

    def _push(self, name: str, argument: object) -> None:
        if argument is None:
            raise Damaged(f"it holds the opcode {name}")
        self._stack.append(argument)

    def _add(self, count: int) -> None:
        items = self._stack[-count:]
        del self._stack[-count:]
        _put(self._stack[-1], items)

    def _fold(self, *, as_tuple: bool = False) -> None:
        """Give what stands above the last mark to the container below it."""
        items: list[object] = []
        while (item := self._stack.pop()) is not _MARK:
            items.append(item)
        items.reverse()
        if as_tuple:
            self._stack.append(tuple(items))
        else:
            _put(self._stack[-1], items)

    def result(self) -> object:
        """What an undamaged pickle holds.

        Raises:
            UnsafeArtifact: a key is no text and no number.
            Damaged: it is no such pickle.
        """
        if isinstance(self.damage, _OddKey):
            raise UnsafeArtifact(f"{self.damage}, which no recorder writes; it was refused")
        if self.damage is not None:
            raise Damaged(f"it is damaged ({type(self.damage).__name__}: {self.damage})")
        if len(self._stack) != 1:
            raise Damaged("it is damaged (it does not hold a single object)")
        return self._stack[0]

    def close(self) -> object:
        """Close everything that was open at the cut, innermost first."""
        try:
            while any(item is _MARK for item in self._stack):
                self._fold()
        except (IndexError, TypeError, _OddKey):
            return None
        return self._stack[0] if self._stack else None


def _put(container: object, items: list[object]) -> None:
    """Add items to a list, or keys and values to a dictionary; a key without a value is dropped."""
    if isinstance(container, list):
        container.extend(items)
    elif isinstance(container, dict):
        pairs = list(zip(items[::2], items[1::2], strict=False))
        if not all(isinstance(key, _PLAIN_KEYS) for key, _ in pairs):
            raise _OddKey("it has a dictionary with keys that are neither texts nor numbers")
        container.update(pairs)
