"""The messages of TCPStore, its sockets, the store-based barrier and the elastic rendezvous.

Groups of a pattern name the fields they fill: `waiter`, `owner`, `host`, `port`, `key`, `joined`,
`expected`, `limit` (as written: `300s`, `300000ms`, `0:30:00`), `clients_limit` (seconds, printed
one above the limit).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.model.events import StoreProblem
from unhang.model.forms import rows

Meaning = StoreProblem | Callable[[str], StoreProblem]


class StoreForm(NamedTuple):
    """One message and what it means; a function decides by the matched text."""

    pattern: re.Pattern[str]
    meaning: Meaning


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


_BY_TEXT: dict[str, Meaning] = {
    "late-owner-or-gone": _why_id_failed,
    "barrier-waits-or-gave-up": _which_edge,
    "port-taken-or-refused": _why_not_bound,
    "stranger-or-not-yet": _why_not_validated,
}
FORMS = tuple(
    StoreForm(pattern, _BY_TEXT.get(row["says"]) or StoreProblem(row["says"]))
    for row, pattern in rows("unhang.parsers.vocabulary", "data/store_messages.toml")
)
"""In order of trust: a message inside one that matched before it is not read again."""
