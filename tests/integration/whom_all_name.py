"""Whom each place that tells of a watched run names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from unhang.api import diagnose
from unhang.screens.feed import Feed
from unhang.screens.pages import view


def told_of(root: Path) -> dict[str, set[int]]:
    """Whom each place of a run that has ended names: its events, its verdicts, both screens."""
    feed = Feed(root)
    standing, verdict = feed.standing(), feed.verdict()
    assert standing is not None
    assert verdict is not None
    events = [json.loads(line) for line in (root / "events.jsonl").read_text().splitlines()]
    held = [e for e in events if e["kind"] in {"hang_confirmed", "stall_suspected"}]
    shown = view(standing, "en")
    return {
        "while it ran": set(held[-1].get("culprits", ())) if held else set(),
        "at its end": set(events[-1].get("culprits", ())),
        "afterwards": set(diagnose(str(root)).culprits),
        "head of the screens": set(cast("list[int]", verdict["culprits"])),
        "rows of the screens": {r["rank"] for r in cast(Any, shown["ranks"]) if r["suspected"]},
    }
