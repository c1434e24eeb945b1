"""Which parts of a run folder of `unhang run` tell how the run ended.

The folder also holds bundles with copies of the same evidence, verdicts that quote it, dumps that
were ordered earlier, and files for machines: reading everything would judge some of it twice.
"""

from __future__ import annotations

import json
from pathlib import Path

_RECORD = "run.json"
_SCHEMA = "unhang.run/"


def is_run_folder(folder: str) -> bool:
    """Whether `unhang run` made the folder."""
    return _record(Path(folder)) is not None


def evidence(folder: str) -> list[str]:
    """The files and folders of a run folder that are to be read, in order.

    A run that ended well is told by its output and its last standing alone: dumps and stacks are
    those of a moment that it survived.
    """
    root = Path(folder)
    record = _record(root) or {}
    parts = [root / "output", root / "standing.json"]
    if record.get("exit_code") != 0:
        parts += [*_last_dumps(root), root / "dumps" / "watchdog", root / "stacks"]
    return [str(part) for part in parts if part.exists()]


def _last_dumps(root: Path) -> list[Path]:
    folders = [f for f in (root / "dumps").glob("*") if f.is_dir() and f.name.isdecimal()]
    return sorted(folders, key=lambda f: int(f.name))[-1:]


def _record(root: Path) -> dict[str, object] | None:
    try:
        data = json.loads((root / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    ours = isinstance(data, dict) and str(data.get("schema", "")).startswith(_SCHEMA)
    return data if ours else None
