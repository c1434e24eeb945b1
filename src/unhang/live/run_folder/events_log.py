"""One line of JSON for each thing that happened in a run (`events.jsonl`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from unhang.live.messages.actions import Note
from unhang.model.codec import encode
from unhang.model.ids import format_ranks
from unhang.model.waits import CallRef
from unhang.reporters.catalogue import write
from unhang.waitgraph.record import to_json


def event_of(note: Note, at: str) -> dict[str, Any]:
    """A note as a line of `events.jsonl`, with its time; what is unknown is left out."""
    event: dict[str, Any] = {"at": at, "kind": note.kind.value}
    if note.ranks:
        event["ranks"] = format_ranks(note.ranks)
    if note.culprits:
        event["culprits"] = sorted(note.culprits)
    if note.phase is not None:
        event["phase"] = note.phase.value
    if note.call is not None:
        event["call"] = _call(note.call)
    if note.since_s is not None:
        event["since_s"] = round(note.since_s, 3)
    event["why"] = write(note.why)
    event["message"] = encode(note.why)
    if note.against:
        event["against"] = [write(message) for message in note.against]
    if note.cost is not None:
        event["cost"] = write(note.cost)
    if note.patience_s is not None:
        event["patience_s"] = round(note.patience_s, 1)
    if note.unsaved_s is not None:
        event["unsaved_s"] = round(note.unsaved_s, 1)
    if note.snapshot is not None:
        event["snapshot"] = to_json(note.snapshot)
    return event


def append(path: Path, event: dict[str, Any]) -> None:
    """Add a line; lines of several writers do not mix.

    Raises:
        OSError: it cannot be written.
    """
    line = json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def _call(call: CallRef) -> dict[str, Any]:
    fields = {
        "op": call.op,
        "seq": call.seq,
        "group": call.description or call.group,
        "group_ranks": format_ranks(call.members) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
