"""Whether a configuration parses, and says each thing once, before a job finds out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from unhang import lazy_re as re
from unhang.model.toml import TOMLDecodeError, loads

if TYPE_CHECKING:
    import yaml


class RepeatedKey(NamedTuple):
    """A key that stands twice in one mapping of a YAML.

    Attributes:
        first: the line of the one before it.
        value: as it is written; None where it is no plain one.
        same: both have the same plain value.
    """

    key: str
    line: int
    first: int
    value: str | None
    same: bool


_TEMPLATE = re.compile(r"\{\{|\{%|<%")
"""Helm, Jinja, ERB: the file is made when the job starts, and is no YAML or JSON before."""

_COMMENT = re.compile(r"^\s*(?://|/\*|#)|[,\[{]\s*//", re.MULTILINE)
"""JSON with comments, as editors and DeepSpeed take it."""


def find_error(suffix: str, text: str, repeated: list[RepeatedKey] | None = None) -> str | None:
    """Say why a configuration does not parse; None where it does, or is of no such kind.

    Args:
        suffix: of the file's name, such as `.yaml`.
        text: what it holds.
        repeated: takes the keys that stand twice.
    """
    if _TEMPLATE.search(text) is not None:
        return None
    bare = text.removeprefix("\ufeff")
    match suffix:
        case ".yaml" | ".yml":
            return _yaml(bare, [] if repeated is None else repeated)
        case ".json" if _COMMENT.search(bare) is None and bare.strip():
            return _json(bare)
        case ".toml":
            return _toml(bare)
        case _:
            return None


def _yaml(text: str, repeated: list[RepeatedKey]) -> str | None:
    """Only the structure counts: tags and values are the framework's own."""
    import yaml

    try:
        for root in yaml.compose_all(text, Loader=yaml.SafeLoader):
            repeated += _repeated(root, set())
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        return f"{line}{error.problem or error.context or 'not YAML'}"
    except yaml.YAMLError as error:
        return str(error).splitlines()[0]
    except RecursionError:
        return "nested too deeply"
    return None


def _repeated(node: yaml.Node | None, seen: set[int]) -> Iterator[RepeatedKey]:
    """Keys that stand twice; what an alias takes over is seen once."""
    if node is None or id(node) in seen or isinstance(node.value, str):
        return
    seen.add(id(node))
    before: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for part in node.value:
        key, value = part if isinstance(part, tuple) else (None, part)
        yield from _repeated(value, seen)
        if key is None or not isinstance(key.value, str) or key.value == "<<":
            continue
        if (first := before.get(key.value)) is not None:
            plain = value.value if isinstance(value.value, str) else None
            yield RepeatedKey(
                key=key.value,
                line=key.start_mark.line + 1,
                first=first[0].start_mark.line + 1,
                value=plain,
                same=plain is not None and plain == first[1].value,
            )
        before[key.value] = key, value


def _json(text: str) -> str | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except ValueError:  # more digits than Python converts
        return "a number is too long"
    except RecursionError:
        return "nested too deeply"
    return None


def _toml(text: str) -> str | None:
    try:
        loads(text)
    except TOMLDecodeError as error:
        found = re.search(r"\(at line (\d{1,9})", str(error))
        line = "" if found is None else f"line {found[1]}: "
        return f"{line}{str(error).split(' (at ')[0]}"
    except RecursionError:
        return "nested too deeply"
    return None
