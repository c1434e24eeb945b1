"""Carries reports to a collector, over one connection that is kept."""

from __future__ import annotations

import hmac
import http.client
import json
from urllib.parse import quote

import zstandard

from unhang.live.messages.changes import ReportSender
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.reports import NodeReport
from unhang.live.nodes import signing
from unhang.live.nodes.addresses import address_of, is_secure
from unhang.live.nodes.certificate import client_context, identity_of
from unhang.live.nodes.uplink import FileRefused

_TIMEOUT_S = 5.0
_LEVEL = 1
_MOST_ANSWER = 1 << 20


class HttpCarrier:
    """The connection.

    Args:
        url: of the collector.
        token: the secret.
        host: label of this node.
    """

    def __init__(self, url: str, token: str, host: str) -> None:
        self._key = signing.key_of(token)
        self._host = host
        self._sender = ReportSender()
        self._connection: http.client.HTTPConnection
        if is_secure(url):
            self._connection = _Pinned(*address_of(url), identity_of(token).certificate)
        else:
            self._connection = http.client.HTTPConnection(*address_of(url), timeout=_TIMEOUT_S)

    def exchange(self, report: NodeReport) -> Instructions | None:
        """Give a report, or what is different from one that has arrived; take the instructions."""
        item = self._sender.tell(report)
        answer = self._post("/v1/report", json.dumps(item, separators=(",", ":")).encode())
        self._sender.arrived()
        return Instructions.from_json(json.loads(answer))

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
        body = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
        signed = signing.headers_for(self._key, path, self._host, body)
        headers = {**signed, "Content-Encoding": "zstd"}
        try:
            self._connection.request("POST", path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read(_MOST_ANSWER)
        except (http.client.HTTPException, OSError) as error:
            self._connection.close()  # the next request opens it again
            raise OSError(str(error) or type(error).__name__) from error
        if answer.status == http.client.FORBIDDEN and path.startswith("/v1/files/"):
            self._connection.close()  # as the collector does
            raise FileRefused(f"{path.removeprefix('/v1/files/')}: the judging node has its own")
        if answer.status != http.client.OK:
            self._connection.close()  # as the collector does
            raise OSError(f"the collector answers {answer.status} {answer.reason}")
        parts = ("answer", signed[signing.NUMBER], signing.digest_of(text))
        if not signing.is_signed(self._key, answer.getheader(signing.SIGNATURE, ""), *parts):
            raise OSError("the collector's answer is not signed with our token")
        return text


class _Pinned(http.client.HTTPSConnection):
    """A connection to a server with one known certificate.

    Args:
        host: of the collector.
        port: of the collector.
        certificate: the one it must show, DER.
    """

    def __init__(self, host: str, port: int, certificate: bytes) -> None:
        super().__init__(host, port, timeout=_TIMEOUT_S, context=client_context())
        self._certificate = certificate

    def connect(self) -> None:
        """Connect, and leave again if it is not the collector."""
        super().connect()
        shown = self.sock.getpeercert(binary_form=True) or b""
        if not hmac.compare_digest(shown, self._certificate):
            self.close()
            raise OSError("it is not the collector that our token names: its certificate differs")
