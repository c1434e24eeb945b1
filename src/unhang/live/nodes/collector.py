"""Listens on the judging node to the reports of the others: a small HTTP server in a thread.

    POST /v1/report                       a report (JSON), or what is different from the one before,
                                          which has a number; the answer is the instructions
    POST /v1/files/<path in the folder>   a file of evidence
    POST /v1/delivered/<number>/<host>    everything about those dumps was given

Every request is signed with the token's key (`signing`) by a node, which speaks for itself only;
bodies are zstd. Off loopback the connection is TLS (`certificate`). It speaks the part of HTTP/1.1
that agents use (requests with a length, connections that are kept), because a report is answered in
a fraction of the time that a general server needs: a thousand ranks are one small load.

A connection that has signed nothing yet has seconds for its first request, and of such there are
few: whoever opens thousands keeps nobody out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
from collections import Counter
from typing import NamedTuple
from urllib.parse import unquote

import zstandard

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.live.messages.changes import changed
from unhang.live.messages.loopback import is_loopback
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.wire import node_from_json
from unhang.live.nodes import signing
from unhang.live.nodes.certificate import server_context
from unhang.live.nodes.evidence import MOST_FILE_BYTES
from unhang.live.nodes.inbox import Inbox, NotYours
from unhang.live.run_folder.layout import RunFolder

_MOST_HEAD = 16 << 10
_MOST_REPORT = 32 << 20
"""Bytes of one report, unpacked."""

_IDLE_S = 120.0
"""A connection on which nothing comes is closed."""

_FIRST_S = 10.0
"""Seconds for the first request of a connection, its handshake and its body, too."""

_SWEEP_S = 1.0
"""Between two looks for connections that have been silent for too long."""

_MOST_CONNECTIONS = 4096
_MOST_STRANGERS, _MOST_STRANGERS_OF_A_PEER = 256, 32
"""Connections that have signed nothing yet: of all, and from one address."""

_GONE = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""The other side has left, sleeps, or speaks something else. (Before Python 3.11 a time-out of
asyncio is no `OSError`.)"""

_REQUEST = re.compile(r"POST (\S{1,400}) HTTP/1\.[01]")
_DELIVERED = re.compile(r"/v1/delivered/(\d{1,9})/([\w.-]{1,100})")
_FILES = "/v1/files/"

_SIGNED = tuple(
    name.lower() for name in (signing.NODE, signing.NUMBER, signing.DIGEST, signing.SIGNATURE)
)
_LONGEST_NUMBER = 24
_REASONS = {
    403: "Forbidden",
    409: "Conflict",
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    413: "Too Large",
}


class _Refused(Exception):
    """A request that is not served.

    Attributes:
        status: of the answer.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Request(NamedTuple):
    """A signed request."""

    path: str
    length: int
    node: str
    number: str
    digest: str


class Collector(Inbox):
    """The server and its inbox.

    Args:
        folder: where evidence goes.
        host: on which it listens.
        port: likewise; 0 = any free one.
        token: the secret with which every request must be signed.
        own: label of this node, for which nobody else may speak.
        tls: None = where others could listen.

    Raises:
        UsageError: nobody can listen there.
    """

    def __init__(
        self,
        folder: RunFolder,
        host: str,
        port: int,
        token: str,
        *,
        own: str | None = None,
        tls: bool | None = None,
    ) -> None:
        super().__init__(folder, own)
        self._key = signing.key_of(token)
        self._unpack = zstandard.ZstdDecompressor()
        self._connections = 0
        self._strangers: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._bases: dict[str, tuple[object, NodeReport]] = {}
        self._due_s: dict[asyncio.StreamWriter, float] = {}
        self._spoken = (self.instructions, json.dumps(self.instructions.to_json()).encode())
        secure = not is_loopback(host) if tls is None else tls
        self._loop = asyncio.new_event_loop()
        try:
            self._server = self._loop.run_until_complete(
                asyncio.start_server(
                    self._serve,
                    host,
                    port,
                    limit=_MOST_HEAD,
                    ssl=server_context(token) if secure else None,
                    ssl_handshake_timeout=_FIRST_S if secure else None,
                )
            )
        except OSError as error:
            self._loop.close()
            raise UsageError(
                f"nobody can listen on {host}:{port} ({error.strerror}); give --collector the"
                " address of the first node and a port that is free there"
            ) from error
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="collector", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.call_soon(self._sweep)
            self._loop.run_forever()
            self._loop.run_until_complete(self._stop())
        finally:
            self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _sweep(self) -> None:
        """Close what is silent: one look for all of them costs less than a timer for each."""
        now = self._loop.time()
        for writer, due_s in list(self._due_s.items()):
            if now > due_s:
                writer.transport.abort()
        self._loop.call_later(_SWEEP_S, self._sweep)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str((writer.get_extra_info("peername") or ("?",))[0])
        self._connections += 1
        try:
            if self._may_try(peer) and await self._first(reader, writer, peer):
                while await self._answer(reader, writer, peer, _IDLE_S):
                    pass
        except _GONE:
            pass
        except asyncio.CancelledError:
            return  # we stop
        finally:
            self._connections -= 1
            self._due_s.pop(writer, None)
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    def _may_try(self, peer: str) -> bool:
        """Whether one more connection is served of which nothing is known yet."""
        return (
            self._connections <= _MOST_CONNECTIONS
            and self._strangers.total() < _MOST_STRANGERS
            and self._strangers[peer] < _MOST_STRANGERS_OF_A_PEER
        )

    async def _first(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
    ) -> bool:
        """Serve the first request, within seconds."""
        self._strangers[peer] += 1
        try:
            return await self._answer(reader, writer, peer, _FIRST_S)
        finally:
            self._strangers[peer] -= 1
            if not self._strangers[peer]:
                del self._strangers[peer]

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str, wait_s: float
    ) -> bool:
        """Serve one request; False when the connection ends with it."""
        self._due_s[writer] = self._loop.time() + wait_s
        head = await reader.readuntil(b"\r\n\r\n")
        status, text, number = 200, b"{}", ""
        try:
            request = self._look_at(head)
            number = request.number
            body = await reader.readexactly(request.length)
            text = self._do(request, body, peer)
        except _Refused as refused:
            status = refused.status
        signature = signing.sign(self._key, "answer", number, signing.digest_of(text))
        writer.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%s: %s\r\n"
            b"Content-Length: %d\r\n\r\n%s"
            % (
                status,
                _REASONS[status].encode(),
                signing.SIGNATURE.encode(),
                signature.encode(),
                len(text),
                text,
            )
        )
        await writer.drain()
        return status == 200

    def _look_at(self, head: bytes) -> _Request:
        """What a request wants, if the node that it names has signed it."""
        first, *lines = head.decode("ascii", "replace").rstrip().split("\r\n")
        match = _REQUEST.fullmatch(first)
        parts_of = (line.partition(":") for line in lines)
        told = {name.strip().lower(): value.strip() for name, _, value in parts_of}
        node, number, digest, signature = (told.get(name, "") for name in _SIGNED)
        length = told.get("content-length", "")
        path = "" if match is None else match[1]
        parts = ("request", path, node, number, length, digest)
        if not signing.is_signed(self._key, signature, *parts):
            raise _Refused(401)
        if not path or not (length.isdigit() and number.isdigit()) or len(number) > _LONGEST_NUMBER:
            raise _Refused(400)
        if int(length) > MOST_FILE_BYTES:
            raise _Refused(413)
        if int(number) <= self._numbers.get(node, 0) or len(self._numbers) > _MOST_CONNECTIONS:
            raise _Refused(409)
        self._numbers[node] = int(number)
        return _Request(unquote(path), int(length), node, number, digest)

    def _do(self, request: _Request, body: bytes, peer: str) -> bytes:
        path = request.path
        if signing.digest_of(body) != request.digest:
            raise _Refused(401)
        try:
            self.admit(request.node, peer)
            if path == "/v1/report":
                self._report(self._unpacked(body, _MOST_REPORT), request.node)
                return self._told()
            if path.startswith(_FILES):
                data = self._unpacked(body, MOST_FILE_BYTES)
                self.keep(path.removeprefix(_FILES), data, request.node)
            elif (match := _DELIVERED.fullmatch(path)) is not None:
                self.mark(int(match[1]), match[2], request.node)
            else:
                raise _Refused(404)
        except NotYours as error:
            raise _Refused(403) from error
        except (ValueError, RecursionError, MemoryError, zstandard.ZstdError, OSError) as error:
            raise _Refused(400) from error
        return b"{}"

    def _told(self) -> bytes:
        """The instructions, put into words once for all nodes."""
        told = self.instructions
        if self._spoken[0] is not told:
            self._spoken = told, json.dumps(told.to_json()).encode()
        return self._spoken[1]

    def _unpacked(self, body: bytes, most_bytes: int) -> bytes:
        """The body; a size that its head tells is believed by zstd, whatever the limit."""
        if zstandard.frame_content_size(body) > most_bytes:
            raise ValueError(f"it unpacks to more than {most_bytes} bytes")
        return self._unpack.decompress(body, max_output_size=most_bytes)

    def _report(self, data: bytes, node: str) -> None:
        item = json.loads(data)
        if not isinstance(item, dict):
            raise ValueError("no report")  # noqa: TRY004
        number, before = self._bases.pop(node, (None, None))
        if "on" not in item:
            report = node_from_json(item)
        elif before is None or item["on"] != number:
            raise _Refused(409)
        else:
            report = changed(before, item)
        if report is None:
            raise ValueError("no report")
        if report.host != node:
            raise NotYours(f"{node} reports as {report.host}")
        self.put(report)
        self._bases[node] = item.get("number"), report
