"""Models that are known by name, without a network."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from unhang import lazy_re as re
from unhang.architectures.hf import from_config
from unhang.architectures.tables import table
from unhang.architectures.tensors import Architecture
from unhang.errors import UsageError

_TAILS = re.compile(
    r"-(?:hf|base|instruct|thinking|chat|it|sft|v\d[\d.]*|\d+k|2\d{3}|meta|preview|unsloth|bnb|4bit)"
    r"(?=-|$)"
)
"""What a maker adds to the name of a model whose sizes stay the same; where they do not, the whole
name has a row of its own."""


def known_models() -> tuple[str, ...]:
    """Names in the table, the main ones only."""
    return tuple(_rows())


@cache
def find_model(name: str) -> Architecture | None:
    """The model of a name such as `llama-3-8b` or `Qwen/Qwen2.5-7B-Instruct`, or None.

    >>> find_model("meta-llama/Meta-Llama-3-8B-Instruct").parameters
    8030261248
    """
    keys = (_whole(name), _key(name))
    rows = (_rows().get(k) or _also().get(k) or _plain().get(_letters(k)) for k in keys)
    row = next((found for found in rows if found is not None), None)
    return None if row is None else from_config(row["config"], name=_name_of(row))


def need_model(name: str) -> Architecture:
    """The model of a name.

    Raises:
        UsageError: it is not in the table; the message names what is close to it.
    """
    found = find_model(name)
    if found is not None:
        return found
    close = get_close_matches(_key(name), {**_rows(), **_also()}, n=3, cutoff=0.5)
    near = f" (close: {', '.join(close)})" if close else ""
    raise UsageError(
        f"no model named {name!r} is known without a network{near}; give the path of its "
        "config.json, of its weights (.safetensors, .gguf), or a number of parameters such as 7B"
    )


def _whole(name: str) -> str:
    """A name without its maker."""
    key = name.strip().rsplit("/", 1)[-1].lower().replace("_", "-")
    return re.sub(r"^meta-(?=llama)", "", key)


def _key(name: str) -> str:
    """The same without what leaves the sizes as they are."""
    return _TAILS.sub("", _whole(name))


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return table("models")


@cache
def _also() -> Mapping[str, Mapping[str, Any]]:
    found = {}
    for row in _rows().values():
        for name in (*row.get("also", ()), row["source"]):
            found[_whole(name)] = row
            found.setdefault(_key(name), row)
    return found


@cache
def _plain() -> Mapping[str, Mapping[str, Any]]:
    """By letters and digits alone: `llama3_1_8b` is how programs write it."""
    return {_letters(name): row for name, row in {**_also(), **_rows()}.items()}


def _letters(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", key)


def _name_of(row: Mapping[str, Any]) -> str:
    return str(row["source"]).rsplit("/", 1)[-1]
