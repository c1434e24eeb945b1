"""From a report's JSON to one that fits a model's context; it says where something was cut."""

from __future__ import annotations

import json
from typing import Any

MOST_BYTES = 48 << 10
_MOST_TEXT = 2_000
_STEPS = (40, 20, 10, 5, 2)


def bounded(told: dict[str, Any], most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """Return the same object with at most so many bytes; `cut` is true where something went."""
    for most in _STEPS:
        found, cut = _cut(told, most, _MOST_TEXT * most // _STEPS[0])
        assert isinstance(found, dict)
        whole = {**found, "cut": cut}
        if len(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace")) <= most_bytes:
            return whole
    kept = ("schema", "outcome", "cause", "confidence", "strength", "culprits", "summary")
    return {**{key: _cut(told[key], 5, 200)[0] for key in kept if key in told}, "cut": True}


def _cut(node: Any, items: int, letters: int) -> tuple[Any, bool]:  # noqa: ANN401 - any JSON
    if isinstance(node, str):
        return (node, False) if len(node) <= letters else (node[: letters - 1] + "…", True)
    if isinstance(node, dict):
        parts = {key: _cut(value, items, letters) for key, value in node.items()}
        return {key: value for key, (value, _) in parts.items()}, any(c for _, c in parts.values())
    if isinstance(node, list):
        found = [_cut(value, items, letters) for value in node[:items]]
        return [value for value, _ in found], len(node) > items or any(c for _, c in found)
    return node, False
