"""Listens on the judging node to the reports of the others: a small HTTP server in a thread.

    POST /v1/report                       a report (JSON); the answer is the instructions
    POST /v1/files/<path in the folder>   a file of evidence
    POST /v1/delivered/<number>/<host>    everything about those dumps was given

Every request carries `Authorization: Bearer <token>`; bodies are zstd. It speaks the part of
HTTP/1.1 that agents use (requests with a length, connections that are kept), because a report is
answered in a fraction of the time that a general server needs: a thousand ranks are one small load.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import re
import threading
from urllib.parse import unquote

import zstandard

from unhang.errors import UsageError
from unhang.live.books.folder import RunFolder
from unhang.live.messages.wire import node_from_json
from unhang.live.nodes.evidence import MOST_FILE_BYTES
from unhang.live.nodes.inbox import Inbox

_MOST_HEAD = 16 << 10
_MOST_REPORT = 32 << 20
"""Bytes of one report, unpacked."""

_IDLE_S = 120.0
"""A connection on which nothing comes is closed."""

_MOST_CONNECTIONS = 4096

_GONE = (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""The other side has left, sleeps, or speaks something else. (Before Python 3.11 a time-out of
asyncio is no `OSError`.)"""

_REQUEST = re.compile(rb"POST (\S{1,400}) HTTP/1\.[01]")
_DELIVERED = re.compile(r"/v1/delivered/(\d{1,9})/([\w.-]{1,100})")
_FILES = "/v1/files/"

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 413: "Too Large"}


class _Refused(Exception):
    """A request that is not served.

    Attributes:
        status: of the answer.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Collector(Inbox):
    """The server and its inbox.

    Args:
        folder: where evidence goes.
        host: on which it listens.
        port: likewise; 0 = any free one.
        token: the secret that every request must show.

    Raises:
        UsageError: nobody can listen there.
    """

    def __init__(self, folder: RunFolder, host: str, port: int, token: str) -> None:
        super().__init__(folder)
        self._token = f"Bearer {token}".encode()
        self._unpack = zstandard.ZstdDecompressor()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        try:
            self._server = self._loop.run_until_complete(
                asyncio.start_server(self._serve, host, port, limit=_MOST_HEAD)
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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            while self._connections <= _MOST_CONNECTIONS and await self._answer(reader, writer):
                pass
        except _GONE:
            pass
        except asyncio.CancelledError:
            return  # we stop
        finally:
            self._connections -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; False when the connection ends with it."""
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _IDLE_S)
        status, text = 200, b"{}"
        try:
            path, length = self._look_at(head)
            body = await asyncio.wait_for(reader.readexactly(length), _IDLE_S)
            text = self._do(path, body)
        except _Refused as refused:
            status = refused.status
        writer.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (status, _REASONS[status].encode(), len(text), text)
        )
        await writer.drain()
        return status == 200

    def _look_at(self, head: bytes) -> tuple[str, int]:
        """Path and length of a request that may be served."""
        first, *lines = head.rstrip().split(b"\r\n")
        match = _REQUEST.fullmatch(first)
        headers = {name.strip().lower(): value.strip() for name, _, value in _parts(lines)}
        shown = headers.get(b"authorization", b"")
        if not hmac.compare_digest(shown, self._token):
            raise _Refused(401)
        length = headers.get(b"content-length", b"")
        if match is None or not length.isdigit():
            raise _Refused(400)
        if int(length) > MOST_FILE_BYTES:
            raise _Refused(413)
        return unquote(match[1].decode("ascii", "replace")), int(length)

    def _do(self, path: str, body: bytes) -> bytes:
        try:
            if path == "/v1/report":
                self._report(self._unpack.decompress(body, max_output_size=_MOST_REPORT))
                return json.dumps(self.instructions.to_json()).encode()
            if path.startswith(_FILES):
                data = self._unpack.decompress(body, max_output_size=MOST_FILE_BYTES)
                self.keep(path.removeprefix(_FILES), data)
            elif (match := _DELIVERED.fullmatch(path)) is not None:
                self.mark(int(match[1]), match[2])
            else:
                raise _Refused(404)
        except (ValueError, zstandard.ZstdError, OSError) as error:
            raise _Refused(400) from error
        return b"{}"

    def _report(self, data: bytes) -> None:
        item = json.loads(data)
        report = node_from_json(item) if isinstance(item, dict) else None
        if report is None:
            raise ValueError("no report")
        self.put(report)


def _parts(lines: list[bytes]) -> list[tuple[bytes, bytes, bytes]]:
    return [line.partition(b":") for line in lines]
