"""What the configuration or the verdict of a job tells: its limits, its folder, its cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unhang.errors import UsageError
from unhang.linting.discover import collect
from unhang.linting.document import SettingsDocument
from unhang.model.toml import load
from unhang.planning.config_files import parse_file
from unhang.planning.inputs import read_inputs
from unhang.settings import TimeoutKnob, frameworks

_SCALES = {"s": 1, "min": 60}
_DEFAULT_S = 600
"""What a group has that was made without a timeout (NCCL, PyTorch 2.2 and later)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFile:
    """What is known of the job that is about to start.

    Attributes:
        timeout_s: the limit of its collectives; `basis` says where it is written.
        plan: fields of a plan's request, as far as the file tells them.
        checkpoint: the folder it saves to, where one is named that exists.
        cause: why it failed the last time.
        first: facts that decide about that cause, to be looked at first.
    """

    timeout_s: int = _DEFAULT_S
    basis: str = "PyTorch"
    plan: dict[str, Any] = field(default_factory=dict)
    checkpoint: str | None = None
    cause: str | None = None
    first: tuple[str, ...] = ()


def read_job(path: Path) -> JobFile:
    """Read a framework's configuration, a launch script, or a verdict.

    Raises:
        UsageError: it cannot be read, or tells nothing.
    """
    try:
        data = parse_file(path)
    except UsageError:
        if path.suffix in (".json", ".yaml", ".yml", ".toml") or not path.is_file():
            raise
        data = {}  # a script
    if str(data.get("schema", "")).startswith("unhang.diagnosis/"):
        return _from_verdict(path, data)
    documents, problems = collect([str(path)])
    if problems and not documents:
        raise UsageError(f"{path}: {problems[0].message}")
    timeout_s, basis = _timeout(documents)
    try:
        plan = _plan(path)
    except UsageError:  # no key of a plan in it; its limits are told all the same
        plan = {}
    # A program without a setting is a job all the same: PyTorch's limit is the one it has.
    if not plan and path.suffix != ".py" and not any(found.settings for found in documents):
        raise UsageError(
            f"{path}: it has no settings; expected a job's configuration, its launch script, or "
            "what `unhang diagnose --format json` printed"
        )
    return JobFile(timeout_s=timeout_s, basis=basis, plan=plan, checkpoint=_folder(documents))


def _plan(path: Path) -> dict[str, Any]:
    """What a file tells of a request; what its framework does by default where it says nothing."""
    told = read_inputs(path)
    told.pop("assumed", None)
    return {**told.pop("usual", {}), **told}


def _from_verdict(path: Path, data: dict[str, Any]) -> JobFile:
    call, cause = data.get("call"), data.get("cause")
    timeout_ms = call.get("timeout_ms") if isinstance(call, dict) else None
    known = timeout_ms if isinstance(timeout_ms, int) and timeout_ms > 0 else None
    facts = load("unhang.checking", "data/causes.toml")
    return JobFile(
        timeout_s=_DEFAULT_S if known is None else known // 1000,
        basis="PyTorch" if known is None else str(path),
        plan=_plan(path),
        cause=cause if isinstance(cause, str) else None,
        first=tuple(facts.get(cause, ())) if isinstance(cause, str) else (),
    )


def _timeout(documents: list[SettingsDocument]) -> tuple[int, str]:
    """The limit that is written, else the framework's own, else PyTorch's."""
    knobs = [knob for framework in frameworks().values() for knob in framework.timeouts]
    for document in documents:
        for written in document.settings:
            for knob in knobs:
                seconds = _seconds(knob, written.name, written.value)
                if seconds is not None:
                    return seconds, f"{written.place} {written.name}"
    programs = {name for document in documents for name in document.programs}
    for knob in knobs:
        if knob.framework in programs and knob.default_s is not None:
            return knob.default_s, knob.framework
    return _DEFAULT_S, "PyTorch"


def _seconds(knob: TimeoutKnob, name: str, value: str | None) -> int | None:
    bare = name.lstrip("+-").replace("-", "_")
    if bare != knob.key.lstrip("+-").replace("-", "_") or knob.unit not in _SCALES:
        return None
    return int(value) * _SCALES[knob.unit] if value is not None and value.isdigit() else None


def _folder(documents: list[SettingsDocument]) -> str | None:
    keys = load("unhang.planning", "data/keys.toml")["checkpoint"]
    for document in documents:
        for written in document.settings:
            name = written.name.lstrip("+-").replace("-", "_")
            if any(name == key or name.endswith(f".{key}") for key in keys) and written.value:
                folder = Path(written.value)
                while not folder.exists() and folder != folder.parent:
                    folder = folder.parent  # it is made when the job saves for the first time
                return str(folder)
    return None
