"""From a verdict, as an object or as JSON, to its fixes in their order."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from unhang.errors import UsageError
from unhang.model.diagnosis import Diagnosis, Fix, FixKind
from unhang.model.provenance import Message

_SCHEMA = "unhang.diagnosis/"
_LARGEST_BYTES = 64 << 20
_TEXTS = ("title", "kind", "framework", "where", "patch", "reaches", "risk", "verify")
_MAKE = "make it with `unhang diagnose LOGS --format json`"


def read_fixes(verdict: Diagnosis | str | os.PathLike[str]) -> tuple[Fix, ...]:
    """Return the fixes of a verdict, the best first.

    Args:
        verdict: what `unhang.diagnose` returned, or the file that holds its JSON (`-`: standard
            input).

    Raises:
        UsageError: there is no such file, or it is no verdict, or it has no fix.
    """
    if isinstance(verdict, Diagnosis):
        fixes, name = verdict.fixes, "the verdict"
    else:
        name = os.fspath(verdict)
        fixes = _parse(name, _read(name))
    if not fixes:
        raise UsageError(f"{name} proposes no fix; its `collect_next` says what would decide more")
    return fixes


def _read(name: str) -> bytes:
    try:
        if name == "-":
            content = sys.stdin.buffer.read(_LARGEST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read the verdict {name}: {error.strerror}; {_MAKE}") from error
    if len(content) > _LARGEST_BYTES:
        raise UsageError(f"{name} is larger than any verdict; {_MAKE}")
    return content


def _parse(name: str, content: bytes) -> tuple[Fix, ...]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not JSON ({_short(error)}); {_MAKE}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, str) or not schema.startswith(_SCHEMA):
        raise UsageError(f"{name} is JSON, but not a verdict of unhang; {_MAKE}")
    fixes = value.get("fixes")
    if not isinstance(fixes, list):
        raise UsageError(f"{name} is a verdict without its list of fixes; {_MAKE}")
    return tuple(_fix(name, number, fix) for number, fix in enumerate(fixes, start=1))


def _fix(name: str, number: int, value: object) -> Fix:
    texts = {key: value.get(key) for key in _TEXTS} if isinstance(value, dict) else {}
    missing = [key for key in _TEXTS if not isinstance(texts.get(key), str)]
    kinds = {kind.value for kind in FixKind}
    if missing or texts["kind"] not in kinds:
        lacks = ", ".join(missing) or f"a kind among {', '.join(sorted(kinds))}"
        raise UsageError(f"{name}: fix {number} lacks {lacks}; {_MAKE}")
    said = {key: str(text) for key, text in texts.items()}

    def said_or_none(key: str) -> str | None:
        text = value.get(key) if isinstance(value, dict) else None
        return text if isinstance(text, str) else None

    return Fix(
        title=_verbatim(said["title"]),
        kind=FixKind(said["kind"]),
        framework=said["framework"],
        where=said["where"],
        patch=said["patch"],
        reaches=said["reaches"],
        risk=_verbatim(said["risk"]),
        verify=_verbatim(said["verify"]),
        remedy=said_or_none("remedy") or "",
        version=said_or_none("version"),
    )


def _verbatim(text: str) -> Message:
    """A sentence that is written already, in the language of whoever asked for the verdict."""
    return Message(key="fix.verbatim", values={"text": text})


def _short(error: Exception) -> str:
    return str(error)[:120] or type(error).__name__
