"""Carries reports to a collector, over one connection that is kept."""

from __future__ import annotations

import http.client
import json
import os
import socket
from urllib.parse import quote, urlsplit

import zstandard

from unhang.errors import UsageError
from unhang.live.instructions import Instructions
from unhang.live.reports import NodeReport
from unhang.live.wire import node_to_json

_TIMEOUT_S = 5.0
_LEVEL = 1

TOKEN = "UNHANG_TOKEN"  # noqa: S105 (the name of a variable)
"""Variable with the secret that all nodes of a run share."""


def address_of(url: str) -> tuple[str, int]:
    """Host and port of `http://HOST:PORT`.

    Raises:
        UsageError: it is no such address.
    """
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "http" or host is None or port is None or parts.path not in ("", "/"):
        raise UsageError(
            f"--collector {url!r} is no address; give http://HOST:PORT, where HOST is the first"
            " node and PORT is free there"
        )
    return host, port


def check_collector(url: str, *, first: bool) -> None:
    """Refuse what could not work, before the job starts.

    Args:
        url: of the collector.
        first: it is to run on this node.

    Raises:
        UsageError: the address is none, nobody can listen there, or there is no secret.
    """
    host, port = address_of(url)
    if not os.environ.get(TOKEN):
        raise UsageError(
            f"--collector needs a secret that all nodes share; `export {TOKEN}=$(openssl rand -hex"
            " 16)` once, and start all nodes with it"
        )
    if not first:
        return
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise UsageError(
            f"nobody can listen on {host}:{port} ({error.strerror}); give --collector the address"
            " of the first node and a port that is free there"
        ) from error


class HttpCarrier:
    """The connection.

    Args:
        url: of the collector.
        token: the secret.
    """

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(*address_of(url), timeout=_TIMEOUT_S)
        self._token = token

    def exchange(self, report: NodeReport) -> Instructions | None:
        """Give a report, take the instructions."""
        data = json.dumps(node_to_json(report), separators=(",", ":")).encode()
        return Instructions.from_json(json.loads(self._post("/v1/report", data)))

    def put(self, name: str, data: bytes) -> None:
        """Give a file of evidence."""
        self._post(f"/v1/files/{quote(name)}", data)

    def mark(self, number: int, host: str) -> None:
        """Say that everything about the dumps of that number was given."""
        self._post(f"/v1/delivered/{number}/{quote(host)}", b"")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _post(self, path: str, data: bytes) -> bytes:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Encoding": "zstd"}
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        try:
            self._connection.request("POST", path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as error:
            self._connection.close()  # the next request opens it again
            raise OSError(str(error) or type(error).__name__) from error
        if answer.status != http.client.OK:
            raise OSError(f"the collector answers {answer.status} {answer.reason}")
        return text
