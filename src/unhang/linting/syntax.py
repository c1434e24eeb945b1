"""Whether a configuration parses: the line and the reason, before a job finds out."""

from __future__ import annotations

import json

from unhang import lazy_re as re
from unhang.model.toml import TOMLDecodeError, loads

_TEMPLATE = re.compile(r"\{\{|\{%|<%")
"""Helm, Jinja, ERB: the file is made when the job starts, and is no YAML or JSON before."""

_COMMENT = re.compile(r"^\s*(?://|/\*|#)|[,\[{]\s*//", re.MULTILINE)
"""JSON with comments, as editors and DeepSpeed take it."""


def find_error(suffix: str, text: str) -> str | None:
    """Say why a configuration does not parse; None where it does, or is of no such kind.

    Args:
        suffix: of the file's name, such as `.yaml`.
        text: what it holds.
    """
    if _TEMPLATE.search(text) is not None:
        return None
    bare = text.removeprefix("\ufeff")
    match suffix:
        case ".yaml" | ".yml":
            return _yaml(bare)
        case ".json" if _COMMENT.search(bare) is None and bare.strip():
            return _json(bare)
        case ".toml":
            return _toml(bare)
        case _:
            return None


def _yaml(text: str) -> str | None:
    """Only the structure counts: tags and values are the framework's own."""
    import yaml

    try:
        for _ in yaml.compose_all(text, Loader=yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        return f"{line}{error.problem or error.context or 'not YAML'}"
    except yaml.YAMLError as error:
        return str(error).splitlines()[0]
    except RecursionError:
        return "nested too deeply"
    return None


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
