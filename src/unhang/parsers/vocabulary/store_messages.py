"""The messages of TCPStore, its sockets, the store-based barrier and the elastic rendezvous.

Groups of a pattern name the fields they fill: `waiter`, `owner`, `host`, `port`, `key`, `joined`,
`expected`, `limit` (as written: `300s`, `300000ms`, `0:30:00`), `clients_limit` (seconds, printed
one above the limit).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from unhang.model.events import StoreProblem

Meaning = StoreProblem | Callable[[str], StoreProblem]


class StoreForm(NamedTuple):
    """One message and what it means; a function decides by the matched text."""

    pattern: re.Pattern[str]
    meaning: Meaning


_ENDPOINT = r"[\[(]?(?P<host>[^\s,\[\]()]{1,255}?)[\]:,]{1,2}\s*(?P<port>\d{1,5})\b"
_GONE = re.compile(
    r"connection\s*(?:reset|was\s*likely)|broken\s*pipe|got\s*0\s*bytes", re.IGNORECASE
)
_NOT_OURS = re.compile(r"EADDRNOTAVAIL|Cannot\s*assign|EACCES|Permission\s*denied")
_STRANGER = re.compile(r"got\s*0\s*bytes|ping|magic|reset|invalid", re.IGNORECASE)

LATER_GROUP = re.compile(r"store_based_barrier_key:(?![01]\b)\w")
"""The barrier of a group that was made after the first: it counts that group's members."""


def _why_id_failed(text: str) -> StoreProblem:
    """The owner of the id is late, unless the store's host has gone."""
    return StoreProblem.PEER_CLOSED if _GONE.search(text) else StoreProblem.UNIQUE_ID_TIMED_OUT


def _which_edge(text: str) -> StoreProblem:
    """The barrier still waits, or has given up."""
    waits = text.startswith("Waiting")
    return StoreProblem.BARRIER_WAITING if waits else StoreProblem.BARRIER_TIMED_OUT


def _why_not_bound(text: str) -> StoreProblem:
    """The port is taken, unless the message names another reason."""
    return StoreProblem.BAD_CONFIGURATION if _NOT_OURS.search(text) else StoreProblem.PORT_IN_USE


def _why_not_validated(text: str) -> StoreProblem:
    """Something that is no store answers, or nothing answers yet."""
    if _STRANGER.search(text):
        return StoreProblem.VALIDATION_FAILED
    return StoreProblem.CONNECT_REFUSED


def _form(meaning: Meaning, *parts: str) -> StoreForm:
    """A form of the given parts; a blank in them stands for any white space, or none."""
    return StoreForm(re.compile("".join(parts).replace(" ", r"\s*")), meaning)


FORMS: tuple[StoreForm, ...] = (
    _form(
        _why_id_failed,
        r"\[(?P<waiter>\d{1,9})\] is setting up NCCL communicator and",
        r" retr(?:ie|ei)v\w* ncclUniqueId from \[(?P<owner>\d{1,9})\]",
        r"(?:[^']{0,80}'(?P<key>[^']{0,200})')?",
        r"(?:.{0,200}?[Tt]imeout (?:waiting for key: \S{1,200} )?after (?P<limit>\d{1,12} ms))?",
        r".{0,300}",
    ),
    _form(
        _which_edge,
        r"(?:Timed out|Waiting) (?:initializing process group )?in store based barrier",
        r"[^(]{0,300}?rank:? (?P<waiter>\d{1,9})[^(]{0,60}?key: (?P<key>[^\s(]{1,200}) ",
        r"\(world_size=(?P<expected>\d{1,9}), ",
        r"(?:worker_count|num_workers_joined)=(?P<joined>\d{1,9}), timeout=(?P<limit>[\d:.]{1,20})",
    ),
    _form(
        StoreProblem.CLIENTS_MISSING,
        r"Timed out after (?P<clients_limit>\d{1,9}) seconds waiting for clients\. ",
        r"(?P<joined>\d{1,9})/(?P<expected>\d{1,9}) clients",
    ),
    _form(
        StoreProblem.CONNECT_TIMED_OUT,
        r"client socket has timed out after (?P<limit>\d{1,12} m?s) while trying to connect to ",
        f"(?:{_ENDPOINT})?",
    ),
    _form(
        StoreProblem.CONNECT_TIMED_OUT,
        r"failed to connect to any network address of ",
        _ENDPOINT,
    ),
    _form(
        StoreProblem.CONNECT_TIMED_OUT,
        r"connect\(\) timed out\.(?: Original timeout was (?P<limit>\d{1,12} ms))?",
    ),
    _form(
        StoreProblem.CONNECT_TIMED_OUT,
        r"failed to connect/validate to host ",
        _ENDPOINT,
        r" - timed out(?: \(try=\d{1,9}, timeout=(?P<limit>\d{1,12} ms))?",
    ),
    _form(
        _why_not_validated,
        r"failed to connect/validate to host ",
        _ENDPOINT,
        r" - retrying.{0,400}",
    ),
    _form(
        StoreProblem.CONNECT_REFUSED,
        r"client socket has failed to connect to ",
        _ENDPOINT,
    ),
    _form(
        StoreProblem.RESOLVE_FAILED,
        r"network addresses of ",
        _ENDPOINT,
        r"\)? cannot be retrieved",
    ),
    _form(
        StoreProblem.RESOLVE_FAILED,
        r"(?:ValueError|RuntimeError|DistNetworkError): host not found: ",
    ),
    _form(
        _why_not_bound,
        r"server socket has failed to listen on any local network address\.",
        r" (?:port: (?P<port>\d{1,5})|useIpv6: \w{1,5},).{0,200}",
    ),
    _form(
        _why_not_bound,
        r"server socket has failed to (?:bind to|listen on) \S{1,100}:(?P<port>\d{1,5})\b.{0,200}",
    ),
    _form(
        StoreProblem.PORT_IN_USE,
        r"distributed communication on port `?(?P<port>\d{1,5})`?, but another process",
    ),
    _form(
        StoreProblem.PORT_IN_USE,
        r"(?:RuntimeError|DistNetworkError): Address already in use",
    ),
    _form(
        StoreProblem.PEER_CLOSED,
        r"(?:recv(?:Value|ValueWithTimeout|Vector|Bytes)|send(?:Value|Bytes)) failed on",
        r"(?: SocketImpl\([^)]{0,300}?remote=",
        _ENDPOINT,
        r")?",
    ),
    _form(StoreProblem.PEER_CLOSED, r"Failed to check the \W{0,2}should dump\W{0,2} flag"),
    _form(
        StoreProblem.PEER_CLOSED,
        r"(?:RuntimeError|DistNetworkError|DistStoreError|DistBackendError): ",
        r"(?:Connection reset by peer|Broken pipe|[Ff]ailed to recv, got 0)",
    ),
    _form(
        StoreProblem.KEY_TIMED_OUT,
        r"wait timeout after (?P<limit>\d{1,12} ms)(?:, keys: (?P<key>[^\s,]{1,300}))?",
    ),
    _form(StoreProblem.KEY_TIMED_OUT, r"(?:[A-Za-z]\w{0,40})?Error: Socket Timeout"),
    _form(StoreProblem.NODE_LOST, r"failed to send a keep-alive heartbeat"),
    _form(
        StoreProblem.RENDEZVOUS_UNREACHABLE,
        r"(?:RendezvousConnectionError: )?The connection to the C10d store has failed",
    ),
    StoreForm(
        re.compile(r"(?<!raise )(?<!of type )\bRendezvousTimeoutError"),
        StoreProblem.RENDEZVOUS_TIMED_OUT,
    ),
    StoreForm(
        re.compile(r"(?<!raise )(?<!of type )\bRendezvousClosedError"),
        StoreProblem.RENDEZVOUS_CLOSED,
    ),
    _form(
        StoreProblem.BAD_CONFIGURATION,
        r"(?:Error initializing torch\.distributed using \w{3,4}:// rendezvous: )?",
        r"environment variable \w{1,40} expected, but not set",
        r"|(?:tcp|env|file):// rendezvous: [\w\s]{0,40}?missing",
        r"|[Dd]efault process group has not been initialized",
        r"|trying to initialize the default process group twice",
        r"|port must have value from 0 to 65535",
    ),
)
"""In order of trust: a message inside one that matched before it is not read again."""
