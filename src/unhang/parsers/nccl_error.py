"""From NCCL errors raised through a framework to failures of NCCL with their `Last error:`.

Reads, over several lines::

    torch.distributed.DistBackendError: NCCL error in: …/NCCLUtils.cpp:77, unhandled system error
        (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
    ncclSystemError: System call (e.g. socket, malloc) or external library call failed …
    Last error:
    socketStartConnect: Connect to 10.0.0.7<43211> failed : Connection refused

and, in one line: `RuntimeError: NCCL error: unhandled system error` (pynccl, vLLM, SGLang),
`ncclAllReduce failed: invalid usage` (Horovod), `NcclError: NCCL_ERROR_SYSTEM_ERROR: …` (CuPy),
`NCCL operation … failed: … Last NCCL warning(error) log entry … '…'` (JAX),
`Test NCCL failure common.cu:1005 '…'` (nccl-tests).

Traps: `Last error:` may be followed by an empty line, may share its line with the text, and holds
the last warning of the *process*, which can be older than this failure. Lines of ranks interleave:
the state is kept for each speaker. The same block is printed again inside `what():`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import Event, NcclClass, NcclFailure, NcclReason
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import nccl_reasons
from unhang.sources.line import Line

_HEAD = re.compile(
    r"NCCL\s*error(?:\s*in)?\s*:|NCCL\s*timeout\s*in\s*:|NCCL_ERROR_\w+\s*:|"
    r"NCCL\s*operation\s*\S{1,120}\s*failed\s*:|NCCL\s*failure|Failed,\s*NCCL\s*error|"
    r"[Nn]ccl(?:Error|Exception)\s*:|NCCL\s*returned\s*error|\bnccl[A-Z][A-Za-z]{2,40}\s*failed\s*:"
)
_CLASS = re.compile(
    r"\bnccl(?:UnhandledCudaError|SystemError|InternalError|InvalidArgument|InvalidUsage|"
    r"RemoteError|Timeout)(?=\s*[:)])"
)
_VERSION = re.compile(r"NCCL\s*version\s*(?P<version>\d+(?:\.\d+)+)")
_LAST = re.compile(
    r"Last\s*(?:error\s*:|NCCL\s*warning\(error\)\s*log\s*entry\s*(?:\([^)]{0,40}\))?)"
    r"\s*(?P<text>.*)$",
    re.IGNORECASE,
)
_ASYNCHRONOUS = re.compile(r"watchdog\s*thread|async\s*exception|async\s*error|WorkNCCL\(")
_TEXT_CLASSES: tuple[tuple[NcclClass, re.Pattern[str]], ...] = (
    (NcclClass.CUDA, re.compile(r"unhandled\s*cuda\s*error|UNHANDLED_CUDA", re.IGNORECASE)),
    (NcclClass.SYSTEM, re.compile(r"unhandled\s*system\s*error|SYSTEM_ERROR", re.IGNORECASE)),
    (NcclClass.INTERNAL, re.compile(r"internal\s*error|INTERNAL_ERROR", re.IGNORECASE)),
    (NcclClass.USAGE, re.compile(r"invalid\s*usage|INVALID_USAGE", re.IGNORECASE)),
    (NcclClass.ARGUMENT, re.compile(r"invalid\s*argument|INVALID_ARGUMENT", re.IGNORECASE)),
    (NcclClass.REMOTE, re.compile(r"remote\s*process\s*exited|REMOTE_ERROR", re.IGNORECASE)),
    (NcclClass.TIMEOUT, re.compile(r"NCCL\s*timeout", re.IGNORECASE)),
)
_FRAME = re.compile(r"\s*(?:#\d|frame\s*#|File\s*\"|Exception raised from)")
_DETAIL_LIMIT = 300
_PATIENCE = 12
"""Lines of a speaker that may stand between the head and the text of the last error."""


@dataclass(slots=True)
class _OpenError:
    """An error of which more may follow."""

    line: Line
    error_class: NcclClass | None = None
    version: str | None = None
    asynchronous: bool = False
    awaits_detail: bool = False
    age: int = 0


class NcclErrorParser(LineParser, name="nccl-error", after=8):
    """Parser of NCCL errors raised through a framework."""

    def __init__(self) -> None:
        self._open: dict[Origin, _OpenError] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Take one line; an error is said when its text is complete."""
        head = line.says(_HEAD, within=True)
        last = line.says(_LAST) if head is None else _LAST.search(line.text)
        known = line.says(_CLASS, within=True)
        if head is not None:
            yield from self._close(line.origin)
            self._open[line.origin] = _head(line)
        open_error = self._open.get(line.origin)
        if known is not None:
            if open_error is None or (open_error.awaits_detail and head is None):
                yield from self._close(line.origin)
                open_error = self._open.setdefault(line.origin, _OpenError(line))
            open_error.error_class = NcclClass(known[0])
        if last is not None:
            open_error = self._open.setdefault(line.origin, _OpenError(line))
            open_error.awaits_detail = True
            if last["text"].strip():
                yield from self._close(line.origin, last["text"], line)
        elif open_error is not None and head is None and known is None:
            yield from self._continue(open_error, line)

    def finish(self) -> Iterator[Event]:
        """Say the errors whose last text never came."""
        for origin in list(self._open):
            yield from self._close(origin)

    def _continue(self, error: _OpenError, line: Line) -> Iterator[Event]:
        """A line after the head: it is the last error's text, or one more line of patience."""
        error.age += 1
        if error.awaits_detail and line.text.strip():
            plain = not _FRAME.match(line.text)
            yield from self._close(line.origin, line.text if plain else "", line)
        elif line.gap or error.age > _PATIENCE:
            yield from self._close(line.origin)

    def _close(
        self, origin: Origin, detail: str = "", detail_line: Line | None = None
    ) -> Iterator[Event]:
        error = self._open.pop(origin, None)
        if error is None:
            return
        text = detail.strip()[:_DETAIL_LIMIT]
        reading = nccl_reasons.read(text or error.line.text)
        source = detail_line if text and detail_line is not None else error.line
        yield NcclFailure(
            **place(source),
            error_class=error.error_class,
            reason=_reason(reading.reason, text),
            detail=text or error.line.text.strip()[:_DETAIL_LIMIT],
            asynchronous=error.asynchronous,
            nccl_version=error.version,
            peer=reading.peer if text else None,
            hca=reading.hca,
            status=reading.status,
            vendor_error=reading.vendor_error,
            ranks=reading.ranks,
            operation=reading.operation,
        )


def _reason(reason: NcclReason, detail: str) -> NcclReason:
    """Without a last error, the sentence of the class itself must not be read as one."""
    if not detail and reason in {NcclReason.PLUGIN_NOISE, NcclReason.CUDA_OTHER}:
        return NcclReason.UNSPECIFIED
    return reason


def _head(line: Line) -> _OpenError:
    version = _VERSION.search(line.text)
    return _OpenError(
        line=line,
        error_class=next((c for c, p in _TEXT_CLASSES if p.search(line.text)), None),
        version=None if version is None else version["version"],
        asynchronous=_ASYNCHRONOUS.search(line.text) is not None,
    )
