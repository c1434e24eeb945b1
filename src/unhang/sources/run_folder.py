"""Which parts of a run folder of `unhang run` tell how the run ended.

The folder also holds bundles with copies of the same evidence, verdicts that quote it, dumps that
were ordered earlier, and files for machines: reading everything would judge some of it twice.
"""

from __future__ import annotations

import json
from pathlib import Path

_RECORD = "run.json"
_SCHEMA = "unhang.run/"
_WATCHED = "watched"
"""Stage of what is held against nobody."""
_SLACK_S = 2.0


def is_run_folder(folder: str) -> bool:
    """Whether `unhang run` made the folder."""
    return _record(Path(folder)) is not None


def evidence(folder: str) -> list[str]:
    """The files and folders of a run folder that are to be read, in order.

    A run that ended well is told by its output and its last standing alone: dumps and stacks are
    those of a moment that it survived. So are dumps that were ordered before anybody was held up
    who still was at the end.
    """
    root = Path(folder)
    record = _record(root) or {}
    held_s = _held_since(root / "standing.json")
    parts = [root / "output", root / "standing.json"]
    if record.get("exit_code") != 0 or (held_s is not None and held_s > 0):
        parts += [p for p in _last_dumps(root) if held_s is not None and _written(p) >= held_s]
        parts += [root / "dumps" / "watchdog", root / "stacks"]
    return [str(part) for part in parts if part.exists()]


def _last_dumps(root: Path) -> list[Path]:
    folders = [f for f in (root / "dumps").glob("*") if f.is_dir() and f.name.isdecimal()]
    return sorted(folders, key=lambda f: int(f.name))[-1:]


def _held_since(standing: Path) -> float | None:
    """Since when ranks wait for one that is held up at the end, as an epoch.

    None where all went on; 0 where nothing tells.
    """
    try:
        data = json.loads(standing.read_text(encoding="utf-8"))
        told = [s for s in data.get("suspicions", ()) if s.get("stage") != _WATCHED]
        waited_s = max((float(s.get("since_s", 0)) for s in told), default=None)
        # What was held against ranks that have ended is as old as the last look at them.
        at_s = data.get("snapshot", {}).get("at", {}).get("seconds", data["at_s"])
        return None if waited_s is None else float(at_s) - waited_s - _SLACK_S
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return 0.0


def _written(folder: Path) -> float:
    """When the newest file of a folder was written; 0 where there is none."""
    try:
        return max((entry.stat().st_mtime for entry in folder.iterdir()), default=0.0)
    except OSError:
        return 0.0


def _record(root: Path) -> dict[str, object] | None:
    try:
        data = json.loads((root / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    ours = isinstance(data, dict) and str(data.get("schema", "")).startswith(_SCHEMA)
    return data if ours else None
