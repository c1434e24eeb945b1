"""A framework's data file as text: one row a line, texts line by line, so that diffs are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def write(row: Mapping[str, Any]) -> str:
    """Return the text of a data file; a default that is not JSON becomes text."""
    return "{\n" + ",\n".join(f"  {_json(k)}: {_value(k, v)}" for k, v in row.items()) + "\n}\n"


def _value(key: str, value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    if key == "recipes":
        cures = (f"    {_json(cure)}: {_recipes(recipes)}" for cure, recipes in value.items())
        return "{\n" + ",\n".join(cures) + "\n  }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {_json(item)}" for item in value) + "\n  ]"
    return _json(value)


def _recipes(recipes: Sequence[Mapping[str, Any]]) -> str:
    if not recipes:
        return "[]"
    return "[\n" + ",\n".join(f"      {_recipe(recipe)}" for recipe in recipes) + "\n    ]"


def _recipe(recipe: Mapping[str, Any]) -> str:
    if "text" not in recipe:
        return _json(recipe)
    head = _json({key: value for key, value in recipe.items() if key != "text"})
    lines = ",\n".join(f"        {_json(line)}" for line in recipe["text"])
    return f'{head[:-1]}, "text": [\n{lines}\n      ]}}'


def _json(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    return json.dumps(value, ensure_ascii=False, default=str)
