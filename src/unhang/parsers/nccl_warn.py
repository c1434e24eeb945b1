"""From NCCL WARN lines, and the error codes that unwind after them, to failures of NCCL.

Reads::

    node1:4711:4790 [2] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote …
    [2026-02-21 01:31:45] node1:4711:4790 [2] misc/socket.cc:71 (socketProgress) NCCL WARN text
    node1:4711:4790 [2] NCCL INFO bootstrap.cc:275 -> 2
    [node1:4711:0:4790]  ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE
    [node1:4711] mm_posix.c:233  UCX  ERROR Not enough memory to write total of 4292720 bytes …
    libfabric:4711:1732779731::efa:cq:efa_rdm_cq_poll():92<warn> … Unresponsive remote
    socketPollConnect: connect to 10.0.0.7<4321> returned No route to host, retrying (34/34) …

Up to 2.25 an empty line stands before each warning; from 2.26 a timestamp; 2.30 adds the function.
An unwinding line is read only where no warning of the same thread came before it: it then is all
that there is. Traps: warnings of plugins and devices that are tried and not used are harmless, a
failed proxy call is somebody else's failure, and a line may hold messages of several processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import Event, NcclClass, NcclFailure, NcclReason
from unhang.model.forms import named
from unhang.model.ids import Rank
from unhang.parsers.base import EventFields, LineParser
from unhang.parsers.vocabulary import nccl_header, nccl_reasons
from unhang.parsers.vocabulary.nccl_header import NcclText
from unhang.sources.context import breaks_off
from unhang.sources.line import Line

_DETAIL_LIMIT = 300
_KEPT_PER_TEXT = 4
_DIGITS = re.compile(r"[0-9a-fx]*\d[0-9a-fx]*")

_PATTERNS = named("unhang.parsers", "data/nccl_warn.toml")
_UNWOUND = _PATTERNS["unwound"]
_CODES = {
    1: NcclClass.CUDA,
    2: NcclClass.SYSTEM,
    3: NcclClass.INTERNAL,
    4: NcclClass.ARGUMENT,
    5: NcclClass.USAGE,
    6: NcclClass.REMOTE,
}
_UCX = _PATTERNS["ucx"]
_UNMARKED = _PATTERNS["unmarked"]
"""What NCCL prints at level INFO, or what is left of a warning whose header was cut: the last of
its attempts to connect (`src/misc/socket.cc` of 2.24 to 2.30), a segment that could not be made."""
_MPI_TCP = _PATTERNS["mpi_tcp"]
"""Open MPI's own connections (`btl_tcp_endpoint.c`); rank 1 of job 3 is `[[3,1],1]`."""
_LIBFABRIC = _PATTERNS["libfabric"]
"""libfabric's own log (`prov/efa`, `fi_log`); most of its warnings tell of features it lacks."""
_BY_FILE: tuple[tuple[str, NcclReason], ...] = (
    ("nvls", NcclReason.NVLS),
    ("shm", NcclReason.SHM_OPEN),
    ("p2p", NcclReason.PEER_ACCESS),
)
"""What an unspecific CUDA failure means by the transport that it struck."""


class NcclWarnParser(LineParser, name="nccl-warn"):
    """Parser of NCCL's warnings."""

    def __init__(self) -> None:
        self._warned: set[tuple[object, ...]] = set()
        self._said: dict[tuple[object, ...], int] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the warnings on this line."""
        found = False
        for message in nccl_header.messages(line.text):
            if not found and breaks_off(line.text[: message.start]):
                return
            found = True
            event = self._event(line, message)
            if event is not None and self._is_news(event):
                yield event
        event = None if found else _without_header(line)
        if event is not None and self._is_news(event):
            yield event

    def _event(self, line: Line, message: NcclText) -> NcclFailure | None:
        thread = (line.origin, message.host, message.pid, message.device)
        if message.level in {"WARN", "ERROR"}:
            self._warned.add(thread)
            return _failure(line, message)
        unmarked = _UNMARKED.match(message.body) if message.level == "INFO" else None
        if unmarked is not None:
            self._warned.add(thread)
            return _failure(line, replace(message, body=unmarked["text"]))
        if message.level == "INFO" and thread not in self._warned:
            unwound = _UNWOUND.search(message.body)
            if unwound is not None and int(unwound["code"]) in _CODES:
                self._warned.add(thread)
                return _unwinding(line, message, unwound)
        return None

    def _is_news(self, event: NcclFailure) -> bool:
        """Whether this speaker has not said the same too often: queues report flush by flush."""
        key = (event.origin, event.device, event.reason, _DIGITS.sub("#", event.detail))
        self._said[key] = self._said.get(key, 0) + 1
        return self._said[key] <= _KEPT_PER_TEXT


def _without_header(line: Line) -> NcclFailure | None:
    """What UCX and libfabric print in NCCL's place, and NCCL's own texts without their header."""
    ucx = line.says(_UCX)
    if ucx is not None:
        return _failure(line, NcclText("WARN", ucx["text"] or ucx["plain"]))
    mpi = line.says(_MPI_TCP)
    if mpi is not None:
        told = _failure(line, NcclText("WARN", mpi["text"]))
        named = replace(line.origin, host=mpi["host"], rank=Rank(int(mpi["rank"])))
        return replace(told, origin=named)
    fabric = line.says(_LIBFABRIC)
    if fabric is not None:
        return replace(
            _failure(line, NcclText("WARN", f"libfabric {fabric['text']}")),
            reason=NcclReason.OFI_ERROR,
        )
    bare = line.says(_UNMARKED)
    return None if bare is None else _failure(line, NcclText("WARN", bare["text"]))


def _failure(line: Line, message: NcclText) -> NcclFailure:
    reading = nccl_reasons.read(message.body)
    return NcclFailure(
        **_place(line, message),
        reason=_by_file(reading.reason, message.file),
        detail=message.body[:_DETAIL_LIMIT],
        warning=True,
        device=message.device,
        peer=reading.peer,
        hca=reading.hca,
        status=reading.status,
        vendor_error=reading.vendor_error,
        ranks=reading.ranks,
        operation=reading.operation,
    )


def _place(line: Line, message: NcclText) -> EventFields:
    return EventFields(source=line.provenance(), origin=message.origin(line.origin), at=line.at)


def _by_file(reason: NcclReason, file: str | None) -> NcclReason:
    if reason is not NcclReason.CUDA_OTHER or file is None:
        return reason
    name = file.rsplit("/", 1)[-1]
    return next((r for part, r in _BY_FILE if name.startswith(part)), reason)


def _unwinding(line: Line, message: NcclText, unwound: re.Match[str]) -> NcclFailure:
    """A failure of which only the way up through the source files is left."""
    why = unwound["why"] or ""
    reading = nccl_reasons.read(f"socket connect {why}" if why else "")
    broken = reading.reason is NcclReason.UNSPECIFIED and "socket" in unwound["file"]
    return NcclFailure(
        **_place(line, message),
        error_class=_CODES[int(unwound["code"])],
        reason=NcclReason.SOCKET_BROKEN if broken else reading.reason,
        detail=message.body[:_DETAIL_LIMIT],
        warning=True,
        device=message.device,
    )
