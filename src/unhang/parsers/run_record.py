"""From `standing.json`, the last view of the live judge, to what held others up.

Reads, one element of a list on each line::

    {"schema":"unhang.standing/1","at_s":1763712000.5,"up_s":61.0,"world_size":4,
    "suspicions":[
    {"culprits":"2","victims":"0-1,3","charge":"stopped","stage":"confirmed","phase":"train",
     "call":{"group":"0","seq":21,"op":"all_reduce"},"since_s":4.0,"still_s":4.1,"place":"…"}
    ]}


    "snapshot":{"waits":[…],"states":[…]}

(one suspicion is one line, and so are a group and the snapshot; they are broken here for the page).
The sentences in the file are for people; only its numbers and words of fixed meaning are read.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from unhang import lazy_re as re
from unhang.model.codec import decode
from unhang.model.events import (
    Event,
    Finished,
    HoldUp,
    Restarted,
    SettingSeen,
    Stage,
    SuspicionReason,
    WaitsSeen,
    WorldSeen,
)
from unhang.model.ids import NO_RANKS, Ranks, parse_ranks
from unhang.model.phases import Phase
from unhang.model.provenance import TEXT_LIMIT, Provenance
from unhang.model.time import Clock, Instant
from unhang.model.waits import Snapshot
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_AT = re.compile(r'"at_s":(?P<at>\d{1,12}(?:\.\d{1,9})?)')
_WORLD = re.compile(r'"world_size":(?P<size>\d{1,7})\b')
_RESTART = re.compile(r'"restart":(?P<number>\d{1,7})\b')
_BEGAN = re.compile(r'"began_s":(?P<at>\d{1,12}(?:\.\d{1,9})?)')
_ENDED_WELL = '"ended_well":true'
_SCHEMA = '"schema":"unhang.standing/'
_SNAPSHOT = '"snapshot":{'
_E = TypeVar("_E", bound=enum.Enum)


class RunRecordParser(
    LineParser, name="run-record", needles=(_SCHEMA, '"charge":"', '"backend":"', _SNAPSHOT)
):
    """Parser of the live judge's last view."""

    def __init__(self) -> None:
        self._at: Instant | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Take the head, one suspicion or the waits; what only looks like one is left aside."""
        if _SCHEMA in line.text:
            yield from self._head(line)
        elif self._at is None:
            return
        elif line.text.startswith(_SNAPSHOT):
            yield from _waits(line)
        elif (data := _object(line.text)) is not None:
            if (backend := _text(data.get("backend"))) is not None:
                basis = "record of the live judge"
                yield SettingSeen(**place(line), name="backend", value=backend, basis=basis)
            yield from self._suspicion(line, data)

    def _head(self, line: Line) -> Iterator[Event]:
        at, size = _AT.search(line.text), _WORLD.search(line.text)
        if at is not None:
            self._at = Instant(seconds=float(at["at"]), clock=Clock.UTC, resolution_s=0.01)
        if size is not None:
            yield WorldSeen(**place(line), world_size=int(size["size"]))
        start, began = _RESTART.search(line.text), _BEGAN.search(line.text)
        if start is not None and began is not None and int(start["number"]) > 0:
            first = Instant(seconds=float(began["at"]), clock=Clock.UTC, resolution_s=0.01)
            yield replace(Restarted(**place(line), of_all_files=True), at=first)
        if _ENDED_WELL in line.text:
            yield replace(Finished(**place(line), whole_job=True), at=self._at)

    def _suspicion(self, line: Line, data: Mapping[str, Any]) -> Iterator[Event]:
        charge, stage = _word(SuspicionReason, data.get("charge")), _word(Stage, data.get("stage"))
        if charge is None or stage is None:
            return
        call = data.get("call")
        call = call if isinstance(call, dict) else {}
        where = place(line)
        waited_s = _number(data.get("since_s")) or 0.0
        began = None
        if self._at is not None:
            began = Instant(seconds=self._at.seconds - waited_s, clock=Clock.UTC, resolution_s=1.0)
        yield HoldUp(
            source=_source(where["source"], data),
            origin=where["origin"],
            at=began,
            charge=charge,
            stage=stage,
            culprits=_ranks(data.get("culprits")),
            victims=_ranks(data.get("victims")),
            phase=_word(Phase, data.get("phase")),
            by_name=data.get("by_name") is True,
            group=_text(call.get("group")),
            seq=call.get("seq") if isinstance(call.get("seq"), int) else None,
            op=_text(call.get("op")),
            waited_s=waited_s,
            still_s=_number(data.get("still_s")),
            place=_text(data.get("place")) or "",
            told=_text(data.get("told")) or "",
            move=_text(data.get("move")) or "",
            due=_text(data.get("due")) or "",
        )


def _waits(line: Line) -> Iterator[Event]:
    """The waits of the record; nothing where nobody waited, or where they are not to be read."""
    try:
        data, _ = json.JSONDecoder().raw_decode(line.text, len(_SNAPSHOT) - 1)
        snapshot = decode(Snapshot, data)
    except (ValueError, RecursionError):
        return
    if snapshot.waits:
        where = place(line)
        source = where["source"]
        short = Provenance(artifact=source.artifact, line=source.line, text='"snapshot"')
        yield WaitsSeen(
            source=short, origin=where["origin"], at=snapshot.at, snapshot=_signed(snapshot, short)
        )


def _signed(snapshot: Snapshot, source: Provenance) -> Snapshot:
    """Each wait with the place that tells of it."""
    return replace(
        snapshot,
        waits=tuple(
            replace(wait, witnesses=tuple(replace(told, source=source) for told in wait.witnesses))
            for wait in snapshot.waits
        ),
    )


def _source(source: Provenance, data: Mapping[str, Any]) -> Provenance:
    """The line without its sentence, which is for people."""
    kept = {key: value for key, value in data.items() if key not in ("why", "message")}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))[:TEXT_LIMIT]
    return Provenance(artifact=source.artifact, line=source.line, text=text)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        data = json.loads(text.strip().rstrip(","))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _word(kind: type[_E], value: object) -> _E | None:
    return next((member for member in kind if member.value == value), None)


def _ranks(value: object) -> Ranks:
    try:
        return parse_ranks(value) if isinstance(value, str) else NO_RANKS
    except ValueError:
        return NO_RANKS


def _number(value: object) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value)


def _text(value: object) -> str | None:
    return value[:TEXT_LIMIT] if isinstance(value, str) else None
