"""Whether a file is a Flight Recorder dump, told from its first bytes and its name."""

from __future__ import annotations

import enum
from pathlib import PurePosixPath

from unhang import lazy_re as re


class DumpForm(enum.Enum):
    """The forms of a dump."""

    PICKLE = "pickle"
    JSON = "json"
    EMPTY = "empty"
    """It has the name of a dump, and no byte."""


_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_KEYS = (
    *(b"pg_config", b"pg_status", b"profiling_name", b"collective_seq_id", b"record_id"),
    *(b"nccl_comm_state", b"comm_lib_version", b"nccl_version"),
)
_ANSWER_OF_RAS = b'"communicators_count"'
"""NCCL's RAS tells its version under the same key."""
_JSON_KEYS = tuple(b'"' + key + b'"' for key in _KEYS)
_NAME = re.compile(r"(?:trace|dump|rank)[^/]*\d", re.IGNORECASE)
_OWN_NAME = re.compile(r"(?:^|[^a-z])(?:trace|dump)_(?:rank_)?\d{1,6}(?!\d)", re.IGNORECASE)
_TEXT_ENDING = re.compile(r"\.(?:log|txt|out|err|md|csv|ya?ml)(?:\.|$)", re.IGNORECASE)


def dump_form(head: bytes, name: str) -> DumpForm | None:
    """What form of a dump begins with `head`; None where it is something else.

    A pickle that is merely named like a dump counts too: it may be an attack, and its reader says
    so.
    """
    if not head:
        base = PurePosixPath(name).name
        own = _OWN_NAME.search(base) is not None and _TEXT_ENDING.search(base) is None
        return DumpForm.EMPTY if own else None
    if _PICKLE.match(head) is not None:
        named = _NAME.search(PurePosixPath(name).name) is not None
        return DumpForm.PICKLE if named or _holds(head, _KEYS) else None
    if _ANSWER_OF_RAS in head:
        return None
    if head.lstrip()[:1] in (b"{", b"[") and _holds(head, _JSON_KEYS):
        return DumpForm.JSON
    return None


def _holds(head: bytes, keys: tuple[bytes, ...]) -> bool:
    return any(key in head for key in keys)
