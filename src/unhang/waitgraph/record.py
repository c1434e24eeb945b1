"""A snapshot as JSON and back, for the record of a run.

Sets of ranks are ranges (`"0-2,4-511"`), fields that hold their default are left out, and so are
the stacks of single calls, which the dumps keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unhang.model.codec import decode, encode
from unhang.model.waits import Snapshot, Wait

SCHEMA = "unhang.snapshot/1"


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """Plain data for `json.dumps`."""
    fields = encode(replace(snapshot, waits=tuple(map(_brief, snapshot.waits))))
    assert isinstance(fields, dict)
    return {"schema": SCHEMA, **fields}


def from_json(data: object) -> Snapshot:
    """The inverse of `to_json`.

    Raises:
        ValueError: the data is no such snapshot; the message says what was found and expected.
    """
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
        raise ValueError(f"{str(data)[:60]!r} is not a snapshot; expected {SCHEMA}")
    return decode(Snapshot, {key: value for key, value in data.items() if key != "schema"})


def _brief(wait: Wait) -> Wait:
    return replace(
        wait,
        variants=tuple(replace(variant, last=None) for variant in wait.variants),
        witnesses=tuple(replace(witness, last=None) for witness in wait.witnesses),
    )
