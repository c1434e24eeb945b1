"""The dashboard is what Grafana's own models hold: no unknown field, none of another type."""

from __future__ import annotations

import enum
import json
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

cog = pytest.importorskip("grafana_foundation_sdk.cog")
from grafana_foundation_sdk.cog.encoder import JSONEncoder  # noqa: E402
from grafana_foundation_sdk.cog.plugins import register_default_plugins  # noqa: E402
from grafana_foundation_sdk.models.dashboard import Dashboard  # noqa: E402

DASHBOARD = Path(__file__).parents[3] / "ops" / "grafana" / "unhang.json"


def lost(written: object, read: object, at: str = "") -> Iterator[str]:
    """Places of what was written and not read: fields that the models do not know."""
    match written, read:
        case dict(), dict():
            for key, value in written.items():
                yield from lost(value, read.get(key), f"{at}.{key}")
        case list(), list() if len(written) == len(read):
            for number, (one, other) in enumerate(zip(written, read, strict=True)):
                yield from lost(one, other, f"{at}[{number}]")
        case _ if written != read:
            yield at


def misfits(value: object, hint: typing.Any, at: str = "") -> Iterator[str]:
    """Places of values that are none of their field's type."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        said = [list(misfits(value, one, at)) for one in of]
        yield from max(said, key=lambda places: max(map(len, places))) if all(said) else ()
    elif origin is list:
        for number, one in enumerate(value if isinstance(value, list) else [None]):
            yield from misfits(one, of[0], f"{at}[{number}]")
    elif origin is typing.Literal:
        yield from () if value in of else (at,)
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        yield from () if value in [one.value for one in hint] else (at,)
    elif isinstance(hint, type) and not isinstance(value, (float, int) if hint is float else hint):
        yield at
    elif hasattr(value, "to_json"):
        for name, inner in typing.get_type_hints(type(value)).items():
            yield from misfits(getattr(value, name), inner, f"{at}.{name}")


def faults(dashboard: dict[str, typing.Any]) -> list[str]:
    register_default_plugins()
    read = Dashboard.from_json(dashboard)
    told = json.loads(JSONEncoder(sort_keys=True).encode(read))
    return [*lost(dashboard, told), *misfits(read, Dashboard)]


def panel(**more: object) -> dict[str, object]:
    return {"panels": [{"type": "stat", **more}]}


def test_grafana_takes_it() -> None:
    assert faults(json.loads(DASHBOARD.read_text())) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"titel": "unhang"}, ".titel"),
        ({"graphTooltip": 3}, ".graph_tooltip"),
        ({"timezone": 7}, ".timezone"),
        (
            {"panels": [{"type": "stat", "options": {"colorMode": "loud"}}]},
            ".panels[0].options.color_mode",
        ),
        ({"panels": [{"type": "stat", "gridPos": {"left": 3}}]}, ".panels[0].gridPos.left"),
    ],
)
def test_a_fault_is_found(change: dict[str, object], place: str) -> None:
    assert any(place in fault for fault in faults({"title": "unhang", **change}))
