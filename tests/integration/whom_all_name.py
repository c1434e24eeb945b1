"""Whom each place that tells of a watched run names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from unhang.api import diagnose
from unhang.screens.feed import Feed
from unhang.screens.pages import view


def held(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What is held against somebody and was not withdrawn.

    Where cores are taken ranks come up one after the other, and the late ones are suspected until
    they are there.
    """
    kept: list[Mapping[str, Any]] = []
    for event in events:
        if event["kind"] in {"hang_confirmed", "stall_suspected"}:
            kept.append(event)
        elif event["kind"] == "resumed":
            kept = [one for one in kept if not _is_over(one, event)]
    return kept


def _is_over(told: Mapping[str, Any], resumed: Mapping[str, Any]) -> bool:
    who, goes_on = (set(event.get("culprits", ())) for event in (told, resumed))
    return who <= goes_on and bool(who) == bool(goes_on)


def told_of(root: Path) -> dict[str, set[int]]:
    """Whom each place of a run that has ended names: its events, its verdicts, both screens."""
    feed = Feed(root)
    standing, verdict = feed.standing(), feed.verdict()
    assert standing is not None
    assert verdict is not None
    events = [json.loads(line) for line in (root / "events.jsonl").read_text().splitlines()]
    still = held(events)
    shown = view(standing, "en")
    return {
        "while it ran": set(still[-1].get("culprits", ())) if still else set(),
        "at its end": set(events[-1].get("culprits", ())),
        "afterwards": set(diagnose(str(root)).culprits),
        "head of the screens": set(cast("list[int]", verdict["culprits"])),
        "rows of the screens": {r["rank"] for r in cast(Any, shown["ranks"]) if r["suspected"]},
    }
