"""The folder of a drill: what lies where."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unhang.errors import UsageError


@dataclass(frozen=True, slots=True)
class DrillFolder:
    """Paths of one drill; `kit` and `work` are gone when it is over.

    Attributes:
        root: the folder itself.
    """

    root: Path

    @property
    def logs(self) -> Path:
        """`merged.log` as the launcher printed it, and `rank_3.log` for each rank."""
        return self.root / "logs"

    @property
    def dumps(self) -> Path:
        """Flight Recorder dumps, `trace_3` for rank 3."""
        return self.root / "dumps"

    @property
    def stacks(self) -> Path:
        """Stacks of all threads at the hang, `stack_3.txt` for rank 3."""
        return self.root / "stacks"

    @property
    def run(self) -> Path:
        """The run folder of `unhang run`, where the drill was live."""
        return self.root / "run"

    @property
    def kit(self) -> Path:
        """What the ranks and the drill tell each other."""
        return self.root / "kit"

    @property
    def work(self) -> Path:
        """The working directory of the job."""
        return self.root / "work"

    @property
    def order(self) -> Path:
        """Once it is there, every rank dumps."""
        return self.kit / "order"

    def make(self) -> None:
        """Make the folders.

        Raises:
            UsageError: the folder holds something already, or cannot be made.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if any(self.root.iterdir()):
                raise UsageError(f"{self.root} is not empty; name a new folder with --out")
            for path in (self.logs, self.dumps, self.stacks, self.kit, self.work):
                path.mkdir()
        except OSError as error:
            raise UsageError(
                f"{self.root} cannot be made ({error.strerror}); name another folder with --out"
            ) from error

    def ranks(self) -> dict[int, int]:
        """Process ids of the ranks that have begun, by rank."""
        rows = (_read(path) for path in self.kit.glob("ranks/*.json"))
        return {row["rank"]: row["pid"] for row in rows if row is not None}

    def all_joined(self) -> bool:
        """Whether all ranks that have begun have come to the making of the default group."""
        ranks = self.ranks()
        return bool(ranks) and all((self.kit / "joined" / str(rank)).exists() for rank in ranks)

    def acts(self) -> list[dict[str, Any]]:
        """Faults that have happened, the earliest first."""
        lines = [
            json.loads(line)
            for path in self.kit.glob("acts/*.json")
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        return sorted(lines, key=lambda row: str(row["at"]))


def _read(path: Path) -> dict[str, int] | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # it is just being replaced
        return None
