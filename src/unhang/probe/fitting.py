"""Makes a beat small enough for the board: what is longest and can best be missed goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_FEW_RANKS = 16
_SHORT_STACK = 8


def smaller(beat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the beat, then ever shorter forms of it; each says what it lacks."""
    yield beat
    if beat.get("environment"):
        beat = {**beat, "lost": [*beat["lost"], ("full_environment", "")], "environment": None}
        yield beat
    beat = {**beat, "lost": [*beat["lost"], ("full_members", "")]}
    beat["groups"] = {name: _without_ranks(group) for name, group in beat["groups"].items()}
    beat["call"] = _without_ranks(beat.get("call") or {}) or None
    yield beat
    beat = {**beat, "lost": [*beat["lost"], ("full_stacks", "")]}
    beat["stack"], beat["threads"] = beat["stack"][:_SHORT_STACK], []
    if beat.get("exception"):
        beat["exception"] = {**beat["exception"], "stack": []}
    yield beat
    beat = {**beat, "lost": [*beat["lost"], ("full_groups", "")]}
    # The ones that changed last are where the process works or waits.
    latest = sorted(beat["groups"].items(), key=lambda item: item[1]["since"], reverse=True)
    for kept in (256, 64, 16, 0):
        beat["groups"] = dict(latest[:kept])
        yield beat


def _without_ranks(group: dict[str, Any]) -> dict[str, Any]:
    ranks = group.get("ranks")
    return group if ranks is None or len(ranks) <= _FEW_RANKS else {**group, "ranks": None}
