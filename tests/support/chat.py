"""A chat on this machine, over real HTTP."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = tuple[int, str, dict[str, str]]
OK: Reply = (200, '{"errcode": 0, "code": 0}', {})


@dataclass
class Server:
    """A chat on this machine: answers as told, and remembers."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    heard: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)


@contextlib.contextmanager
def chat() -> Iterator[Server]:
    """It listens until it is left."""
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            told.heard.append((self.path, self.headers["Content-Type"], json.loads(data)))
            code, text, headers = told.replies.pop(0) if told.replies else OK
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.02,))
    thread.start()
    told.url = f"http://127.0.0.1:{http.server_port}"
    yield told
    http.shutdown()
    http.server_close()
    thread.join()
