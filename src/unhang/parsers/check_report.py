"""From the report of `unhang check --format json` to the hosts and links that it found fault with.

Reads (indented as it is printed, or on one line)::

    {"schema": "unhang.check/1", "at": "2026-11-22T15:10:00+00:00", "hosts": ["node0", "node1"],
     "stages": [{"name": "nics", "status": "pass", "host": "node0", "id": "fact.nics",
       "measured": {"interfaces": [{"name": "eth0", "address": "10.0.0.1"}]}, "message": "…"}],
     "suspects": [{"host": "", "link": ["node0", "node1"], "status": "fail", "stage": "pairs",
       "id": "stage.link_lossy", "why": "3.1 % of the packets …"}]}

Traps: the report is of its own time, not of the job's; what passed there is no proof of anything
later. A report that was cut, or that somebody quotes in a log, is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from unhang.model.events import CheckFault, Event
from unhang.model.provenance import TEXT_LIMIT
from unhang.model.time import Clock, Instant
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.loose_json import object_of, text_of
from unhang.sources.line import Line

_MOST_BYTES = 16 << 20
_MOST_FAULTS = 200
_FAULTS = ("warn", "fail")


def read_check(path: Path) -> list[CheckFault]:
    """What a report of `unhang check` found; nothing where the file is none.

    Raises:
        OSError: it cannot be read.
    """
    parser = CheckReportParser()
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file.read(_MOST_BYTES).splitlines(), start=1):
            parser.feed(Line(artifact=str(path), number=number, text=text, raw=text))
    return list(parser.finish())


class CheckReportParser(
    LineParser, name="check-report", needles=('"unhang.check/',), after=1_000_000
):
    """Parser of reports of `unhang check`."""

    def __init__(self) -> None:
        self._first: Line | None = None
        self._text: list[str] = []
        self._size = 0
        self._number = 0

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep the text; a line that was too long to be given at once comes in pieces."""
        self._first = self._first or line
        self._size += len(line.raw)
        if self._size <= _MOST_BYTES and not (line.number == self._number and line.text == ""):
            self._text.append(line.raw if line.number == self._number else "\n" + line.raw)
        self._number = line.number
        return iter(())

    def finish(self) -> Iterator[CheckFault]:
        """Say what the report found, where it is whole."""
        text = "".join(self._text).lstrip()
        text = text if text.startswith("{") else "{" + text  # its line holds no needle
        try:
            data, _ = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return
        if self._first is not None and str(data.get("schema", "")).startswith("unhang.check/"):
            yield from _faults(self._first, data)


def _faults(line: Line, data: Mapping[str, Any]) -> Iterator[CheckFault]:
    """One event for each host and link, and what was said of it."""
    hosts = [text_of(name) for name in _list(data.get("hosts"))]
    stages = [object_of(stage) for stage in _list(data.get("stages"))]
    addresses: dict[str, set[str]] = {}
    for stage in stages:
        for one in _list(object_of(stage.get("measured")).get("interfaces")):
            address = text_of(object_of(one).get("address"))
            if address and not address.startswith("127."):
                addresses.setdefault(_host(stage, hosts), set()).add(address)
    where, told = place(line), set()
    at = _time(data.get("at"))
    for found in (*map(object_of, _list(data.get("suspects"))), *stages):
        ends = tuple(text_of(end) for end in _list(found.get("link"))) or (_host(found, hosts),)
        fault, text = text_of(found.get("id")), text_of(found.get("why") or found.get("message"))
        if found.get("status") not in _FAULTS or not (fault and all(ends)) or (fault, ends) in told:
            continue
        told.add((fault, ends))
        if len(told) > _MOST_FAULTS:
            return
        shown = f"{data['schema']} {data.get('at')}: {' - '.join(ends)}: {text}"[:TEXT_LIMIT]
        yield CheckFault(
            source=replace(where["source"], text=shown),
            origin=replace(where["origin"], host=ends[0] if len(ends) == 1 else None),
            at=at,
            fault=fault,
            hosts=ends,
            addresses=frozenset().union(*(addresses.get(end, ()) for end in ends)),
            checked=frozenset(hosts),
            grave=found["status"] == "fail",
            text=text,
        )


def _host(found: Mapping[str, object], hosts: list[str]) -> str:
    """Whose it is: a check of one host does not say so at each fact."""
    return text_of(found.get("host")) or (hosts[0] if len(hosts) == 1 else "")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _time(text: object) -> Instant | None:
    try:
        at = datetime.fromisoformat(text_of(text))
        return Instant(seconds=at.timestamp(), clock=Clock.UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
