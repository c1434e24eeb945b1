"""Carries reports to a collector, over one connection that is kept."""

from __future__ import annotations

import http.client
import json
from urllib.parse import quote

import zstandard

from unhang.live.messages.instructions import Instructions
from unhang.live.messages.reports import NodeReport
from unhang.live.messages.wire import node_to_json
from unhang.live.nodes.addresses import address_of

_TIMEOUT_S = 5.0
_LEVEL = 1


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
