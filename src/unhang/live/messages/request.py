"""What is asked of a run, and its record (`run.json`)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhang.live.messages.reports import Json
from unhang.reporters.style import PLAIN, Style

KEEP, JUDGE, FIXED = "keep", "judge", "fixed"
REPORT, ABORT = "report", "abort"
COMMAND = "exec:"
"""What `--on-hang` takes; a shell command follows the last."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """What happens to the limits of the process groups.

    Attributes:
        mode: `keep` leaves them alone; `judge` makes them long and lets the judge end hangs;
            `fixed` sets `limit_ms`.
    """

    mode: str = KEEP
    limit_ms: int | None = None

    def __str__(self) -> str:
        seconds = None if self.limit_ms is None else self.limit_ms / 1000
        return self.mode if seconds is None else f"{seconds:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run on one node.

    Attributes:
        command: the words of the launch command.
        root: the run folder.
        near: folder on this host that the probes use; `root` itself wherever that will do.
        host: label of this node, unique in the run.
        on_hang: `report`, `abort`, or `exec:` and a shell command.
        patience_s: how long ranks without a sign of life are left alone; None = as it costs.
        notify: addresses that are told.
        nodes: how many there are; None = unknown.
        node_rank: index of this one.
        collector: address of the collector, or None.
        shared: folder through which the nodes talk instead, or None.
    """

    command: tuple[str, ...]
    root: Path
    near: Path
    host: str
    timeouts: Timeouts = Timeouts()
    on_hang: str = REPORT
    patience_s: float | None = None
    notify: tuple[str, ...] = ()
    nodes: int | None = None
    node_rank: int = 0
    collector: str | None = None
    shared: Path | None = None
    style: Style = PLAIN

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        shared = None if self.shared is None else str(self.shared)
        paths = {"root": str(self.root), "near": str(self.near), "shared": shared}
        return dataclasses.asdict(self) | paths

    @classmethod
    def from_json(cls, data: Json) -> RunRequest:
        """The inverse; the data is our own."""
        fields: dict[str, Any] = dict(data)
        fields |= {name: tuple(fields[name]) for name in ("command", "notify")}
        fields |= {name: Path(fields[name]) for name in ("root", "near")}
        fields["shared"] = None if fields["shared"] is None else Path(fields["shared"])
        fields["timeouts"] = Timeouts(**fields["timeouts"])
        fields["style"] = Style(**fields["style"])
        return cls(**fields)
