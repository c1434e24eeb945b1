"""From the file of a configuration, or of the script that launches it, to its keys."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.model import toml
from unhang.planning import python

_MOST_BYTES = 10 << 20
_MOST_KEYS = 20_000
_SCRIPTS = frozenset({".sh", ".bash", ".slurm", ".sbatch"})
_ASSIGNED = re.compile(r"\+{0,2}(?P<key>[A-Za-z_][\w.-]*)=(?P<value>.*)")


def parse_file(path: Path) -> dict[str, Any]:
    """The keys of a YAML, JSON, TOML or Python file, or the options of a script's commands.

    Raises:
        UsageError: it cannot be read, or does not parse.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if len(raw) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than 10 MB; expected a configuration")
    text = raw.decode("utf-8-sig", errors="replace")
    try:
        if path.suffix in _SCRIPTS:
            data: Any = dict(_options(text))
        elif path.suffix in (".py", ".ipynb"):
            data = python.keys_of(python.cells(text) if path.suffix == ".ipynb" else text)
        elif path.suffix == ".toml":
            data = toml.loads(text)
        elif path.suffix == ".json":
            data = json.loads(text)
        else:
            data = yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        first = str(error).splitlines()[0][:120]
        raise UsageError(f"{path} does not parse: {first}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} holds no keys; expected a configuration or a verdict")
    return data


def flatten(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; bounded, since aliases of YAML can make much of little."""
    left: list[tuple[str, Any]] = [("", data)]
    for _ in range(_MOST_KEYS):
        if not left:
            return
        prefix, value = left.pop()
        if isinstance(value, Mapping):
            left += [(f"{prefix}.{key}" if prefix else str(key), v) for key, v in value.items()]
        else:
            yield prefix.replace("-", "_"), value
    raise UsageError(f"more than {_MOST_KEYS} keys; expected a configuration")


def is_there(path: Path) -> bool:
    """Whether a file has that name; what a configuration says may be none at all."""
    return os.path.exists(path)  # noqa: PTH110


def _options(text: str) -> Iterator[tuple[str, Any]]:
    """Options of a script's commands: `--key value`, `--key=value`, `--flag`, `a.b=value`.

    A value that a variable holds is unknown.
    """
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        words = line.split() if not line.lstrip().startswith("#") else []
        for word, after in zip(words, [*words[1:], "--"], strict=False):
            match = _ASSIGNED.fullmatch(word.removeprefix("--"))
            if match is not None:
                yield from _told(match["key"], match["value"])
            elif word.startswith("--") and len(word) > 2:
                yield from _told(word[2:], "true" if after.startswith("-") else after)


def _told(key: str, value: str) -> Iterator[tuple[str, Any]]:
    value = value.strip("\"'")
    if "$" in value:
        return
    if value.lower() in ("true", "false"):
        yield key, value.lower() == "true"
    else:
        yield key, int(value) if re.fullmatch(r"[0-9]{1,12}", value) else value
