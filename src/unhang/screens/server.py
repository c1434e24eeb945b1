"""`unhang serve`: one page, a JSON API, a stream of what changes, metrics. It only ever reads.

GET /                     the page
GET /api/run              what is run, its verdict, the words of the page
GET /api/standing[?at=T]  now, or at an epoch of the history
GET /api/heat             waiting by rank and time
GET /api/events           everything that happened
GET /stream               server-sent events: `standing`, `note`, `run`
GET /metrics              Prometheus
GET /healthz              204

Secrets in texts are replaced before they leave.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from unhang.errors import UnhangError, UsageError
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.redaction import Redactor
from unhang.reporters.html.frame import asset
from unhang.screens import pages
from unhang.screens.access import Access, cookie_of, shown_token
from unhang.screens.feed import EventTail, Feed
from unhang.screens.metrics import metrics

_ASSETS = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_SHARED = {"/page.css": "page.css", "/page.js": "heat.js"}
"""Parts of the reports' pages that stand in front of the page's own."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST_STREAMS = 32
_PERIOD_S = 1.0


class Server(ThreadingHTTPServer):
    """Serves one run folder.

    Args:
        root: the run folder.
        host: address to listen on.
        port: 0 = any that is free.
        token: see `Access`.
        open_to_all: likewise.
        language: of the page, unless a request asks for another.

    Raises:
        UsageError: no run folder, or the port cannot be had.
    """

    daemon_threads = True

    def __init__(
        self,
        root: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        token: str | None = None,
        open_to_all: bool = False,
        language: str = "en",
    ) -> None:
        self.feed = Feed(root)
        self.access = Access(host, token, open_to_all=open_to_all)
        self.language = language
        self.redactor = Redactor([os.environ])
        self.streams = threading.BoundedSemaphore(_MOST_STREAMS)
        self.closing = threading.Event()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host}:{port}: {error.strerror}; choose another with --port"
            ) from error

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        host = str(self.server_address[0])
        shown = f"[{host}]" if ":" in host else host
        token = "" if self.access.token is None else f"?token={self.access.token}"
        return f"http://{shown}:{self.server_address[1]}/{token}"

    def shutdown(self) -> None:
        """End the streams, then the server."""
        self.closing.set()
        super().shutdown()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    server_version = "unhang"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer, or say in one sentence why not."""
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        if not self.server.access.knows_host(self.headers.get("Host")):
            return self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this name is not ours")
        if parts.path == "/healthz":
            return self._send(b"", "text/plain", HTTPStatus.NO_CONTENT)
        shown = shown_token(dict(self.headers.items()), query, self._cookie)
        if not self.server.access.admits(shown):
            return self._refuse(
                HTTPStatus.UNAUTHORIZED, "open the address that `unhang serve` printed: ?token=..."
            )
        if parts.path == "/" and "token" in query and self.server.access.token is not None:
            return self._remember(self.server.access.token)
        try:
            self._answer(parts.path, query)
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True
        except UnhangError as error:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        return None

    @property
    def _cookie(self) -> str:
        return cookie_of(self.server.server_address[1])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (inherited)
        """Say nothing: requests are no news, and addresses may hold the token."""

    def _answer(self, path: str, query: dict[str, str]) -> None:
        if path in _ASSETS:
            name, kind = _ASSETS[path]
            own = (files("unhang.screens") / "page" / name).read_bytes()
            shared = asset(_SHARED[path]).encode() if path in _SHARED else b""
            return self._send(shared + own, kind)
        if path == "/stream":
            return self._stream(query)
        if path == "/metrics":
            text = metrics(self.server.feed, self.server.redactor)
            return self._send(text, "text/plain; version=1.0.0; charset=utf-8")
        if (make := _API.get(path)) is not None:
            return self._send(self._json(make(self, query)), "application/json")
        return self._refuse(HTTPStatus.NOT_FOUND, f"there is no {path} here")

    def _run(self, query: dict[str, str]) -> object:
        return pages.overview(self.server.feed, self._language(query))

    def _standing(self, query: dict[str, str]) -> object:
        feed = self.server.feed
        standing = feed.nearest(_number(query["at"])) if "at" in query else feed.standing()
        return None if standing is None else self._view(standing, self._language(query))

    def _view(self, standing: JobSnapshot, language: str) -> object:
        """Secrets go before the drawing is made: what is drawn is markup."""
        return pages.view(self.server.redactor.tree(standing), language)

    def _heat(self, query: dict[str, str]) -> object:
        samples = self.server.redactor.tree(self.server.feed.course())
        return pages.heatmap(samples, self._language(query))

    def _events(self, query: dict[str, str]) -> object:
        language = self._language(query)
        fresh = EventTail(self.server.feed.folder.events).fresh()
        return [pages.event(event, language) for event in fresh]

    def _language(self, query: dict[str, str]) -> str:
        return query["lang"] if query.get("lang") in ("en", "zh") else self.server.language

    def _stream(self, query: dict[str, str]) -> None:
        """Send what changes until the reader leaves or the server ends."""
        if not self.server.streams.acquire(blocking=False):
            return self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open")
        try:
            self._head("text/event-stream", HTTPStatus.OK)
            self.end_headers()
            self._follow(self._language(query))
        finally:
            self.server.streams.release()
        return None

    def _follow(self, language: str) -> None:
        feed, tail = self.server.feed, EventTail(self.server.feed.folder.events)
        seen_at, seen_live = None, None
        while not self.server.closing.is_set():
            standing, live = feed.standing(), feed.is_live()
            if live != seen_live:
                self._say("run", pages.overview(feed, language))
            if standing is not None and standing.at_s != seen_at:
                self._say("standing", self._view(standing, language))
                seen_at = standing.at_s
            fresh = tail.fresh()
            if fresh:
                self._say("note", [pages.event(e, language) for e in fresh])
            if live == seen_live and not fresh:
                self.wfile.write(b": still here\n\n")
                self.wfile.flush()
            seen_live = live
            self.server.closing.wait(_PERIOD_S)

    def _say(self, kind: str, data: object) -> None:
        self.wfile.write(b"event: " + kind.encode() + b"\ndata: " + self._json(data) + b"\n\n")
        self.wfile.flush()

    def _json(self, data: object) -> bytes:
        told = self.server.redactor.tree(data)
        return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()

    def _remember(self, token: str) -> None:
        """Keep the token out of the address bar, and so out of histories and screenshots."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Set-Cookie", f"{self._cookie}={token}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(f"{why}\n".encode(), "text/plain; charset=utf-8", status)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._head(kind, status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _head(self, kind: str, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")


_API: dict[str, Callable[[_Handler, dict[str, str]], object]] = {
    "/api/run": _Handler._run,
    "/api/standing": _Handler._standing,
    "/api/heat": _Handler._heat,
    "/api/events": _Handler._events,
}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return time.time()
