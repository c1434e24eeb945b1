"""Where the collector is, and the secret that its nodes share."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlsplit

from unhang.errors import UsageError
from unhang.live.messages.loopback import is_loopback

TOKEN = "UNHANG_TOKEN"  # noqa: S105 (the name of a variable)
"""Variable with the secret that all nodes of a run share."""


_SHORTEST = 16


def is_secure(url: str) -> bool:
    """Whether a collector there speaks TLS: on loopback only where the address says https."""
    return urlsplit(url).scheme == "https" or not is_loopback(address_of(url)[0])


def address_of(url: str) -> tuple[str, int]:
    """Host and port of `http://HOST:PORT` or `https://HOST:PORT`.

    Raises:
        UsageError: it is no such address.
    """
    parts = urlsplit(url)
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if (
        parts.scheme not in ("http", "https")
        or host is None
        or port is None
        or parts.path not in ("", "/")
    ):
        raise UsageError(
            f"--collector {url!r} is not an address; give http://HOST:PORT, where HOST is the first"
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
    if is_secure(url) and len(os.environ[TOKEN]) < _SHORTEST:
        raise UsageError(
            f"{TOKEN} has {len(os.environ[TOKEN])} characters; a collector that others can reach"
            f" needs {_SHORTEST} or more: `export {TOKEN}=$(openssl rand -hex 16)`"
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


def is_here(url: str) -> bool:
    """Whether the collector's address is one of this host: a socket can be bound to it."""
    host, _ = address_of(url)
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as trial:
                trial.bind(address)
                return True
        except OSError:  # noqa: PERF203 (of several addresses one may be ours)
            continue
    return False
