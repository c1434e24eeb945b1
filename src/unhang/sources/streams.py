"""Streams over streams: decompressed or recoded while they are read, within limits."""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Protocol, cast

from unhang.errors import ArtifactError, UnsafeArtifact
from unhang.sources.kinds import FileKind, utf16_without_mark

_PIECE = 128 << 10
_MOST_RATIO = 1_200
_RATIO_FROM = 64 << 20


class _Decompressor(Protocol):
    """What bz2, lzma and the adapters below have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Inflater:
    """zlib's decompressor with the manners of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_DECOMPRESSORS: dict[FileKind, Callable[[], _Decompressor]] = {
    FileKind.GZIP: _Inflater,
    FileKind.BZIP2: bz2.BZ2Decompressor,
    FileKind.XZ: lambda: cast("_Decompressor", lzma.LZMADecompressor(memlimit=1 << 30)),
}


def decompressed(stream: IO[bytes], kind: FileKind) -> IO[bytes]:
    """A stream of what `stream` holds compressed; it closes both.

    Reading it raises `ArtifactError` where the data is damaged or cut, after everything before
    has been given, and `UnsafeArtifact` where it grows out of all proportion.
    """
    if kind is FileKind.ZSTD:
        return cast("IO[bytes]", _Zstd(stream))
    return cast("IO[bytes]", _Decompressing(stream, kind))


class _Limited(io.RawIOBase):
    """Counts what goes in and what comes out."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._in = self._out = 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._inner.close()
        super().close()

    def readinto(self, space: object) -> int:
        view = memoryview(cast("bytearray", space))
        piece = self._piece(len(view))
        view[: len(piece)] = piece
        self._out += len(piece)
        if self._out > _RATIO_FROM and self._out > _MOST_RATIO * max(1, self._in):
            raise UnsafeArtifact(
                f"it grows {_MOST_RATIO} times and more when it is decompressed, which no log "
                "does; decompress it yourself if you trust it"
            )
        return len(piece)

    def _piece(self, most: int) -> bytes:
        raise NotImplementedError


class _Decompressing(_Limited):
    """Over the decompressors of the standard library; concatenated streams are one."""

    def __init__(self, inner: IO[bytes], kind: FileKind) -> None:
        super().__init__(inner)
        self._kind = kind
        self._decompressor = _DECOMPRESSORS[kind]()
        self._begun = False
        self._rest = b""

    def _piece(self, most: int) -> bytes:
        while True:
            data = b""
            if self._decompressor.needs_input or self._decompressor.eof:
                data = self._rest or self._inner.read(_PIECE)
                self._rest = b""
                self._in += len(data)
                if not data:
                    return self._at_end()
            if self._decompressor.eof:
                if not data.strip(b"\0"):
                    continue
                self._decompressor, self._begun = _DECOMPRESSORS[self._kind](), False
            piece = self._decompress(data, most)
            if piece:
                return piece

    def _decompress(self, data: bytes, most: int) -> bytes:
        try:
            piece = self._decompressor.decompress(data, most)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise ArtifactError(
                f"the {self._kind.value} data is damaged ({error}); what came before was used. "
                "Fetch the file again"
            ) from error
        self._begun = True
        if self._decompressor.eof:
            self._rest = self._decompressor.unused_data
        return piece

    def _at_end(self) -> bytes:
        if self._begun and not self._decompressor.eof:
            raise ArtifactError(
                f"the {self._kind.value} data ends too early (the file was cut, or is still being "
                "written); what came before was used"
            )
        return b""


class _Zstd(_Limited):
    """Over `zstandard`."""

    def __init__(self, inner: IO[bytes]) -> None:
        super().__init__(inner)
        import zstandard

        self._error: type[Exception] = zstandard.ZstdError
        limited = zstandard.ZstdDecompressor(max_window_size=1 << 28)
        self._reader = limited.stream_reader(
            cast("IO[bytes]", _Counted(self, inner)), read_size=_PIECE, read_across_frames=True
        )

    def count(self, size: int) -> None:
        """So many compressed bytes were read."""
        self._in += size

    def _piece(self, most: int) -> bytes:
        try:
            return self._reader.read(most)
        except self._error as error:
            raise ArtifactError(
                f"the zstd data is damaged ({error}); what came before was used. "
                "Fetch the file again"
            ) from error


class _Counted:
    """What `zstandard` reads from."""

    def __init__(self, owner: _Zstd, inner: IO[bytes]) -> None:
        self._owner = owner
        self._inner = inner

    def read(self, size: int) -> bytes:
        data = self._inner.read(size)
        self._owner.count(len(data))
        return data


def recoded(stream: IO[bytes]) -> IO[bytes]:
    """A stream of UTF-8 from one of UTF-16."""
    return cast("IO[bytes]", _Recoding(stream))


class _Recoding(io.RawIOBase):
    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._decoder: codecs.IncrementalDecoder | None = None
        self._ready = b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._inner.close()
        super().close()

    def readinto(self, space: object) -> int:
        view = memoryview(cast("bytearray", space))
        while not self._ready:
            data = self._inner.read(_PIECE)
            if self._decoder is None:
                codec = utf16_without_mark(data) or "utf-16"
                self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")
            self._ready = self._decoder.decode(data, final=not data).encode(errors="replace")
            if not data and not self._ready:
                return 0
        piece, self._ready = self._ready[: len(view)], self._ready[len(view) :]
        view[: len(piece)] = piece
        return len(piece)
