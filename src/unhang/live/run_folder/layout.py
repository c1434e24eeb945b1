"""The run folder: where everything of one watched run lies, and nothing else knows the names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OWNER_ONLY = 0o700
"""Mode of folders: command lines and outputs are nobody else's."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run.

    Attributes:
        root: the folder itself.
    """

    root: Path

    @property
    def record(self) -> Path:
        """What was run, when, how, and how it ended (`run.json`)."""
        return self.root / "run.json"

    @property
    def last_record(self) -> Path:
        """Room for the record of the end, taken at the beginning."""
        return self.root / ".run.json.last"

    @property
    def events(self) -> Path:
        """One line for each thing that happened (`events.jsonl`)."""
        return self.root / "events.jsonl"

    @property
    def boards(self) -> Path:
        """One file for each training process, written by its probe."""
        return self.root / "boards"

    @property
    def standing(self) -> Path:
        """The monitor's last view of the whole job (`standing.json`)."""
        return self.root / "standing.json"

    @property
    def measured(self) -> Path:
        """Settings of the ranks; how long steps, phases and saves took (`measured.json`)."""
        return self.root / "measured.json"

    @property
    def history(self) -> Path:
        """Samples over time (`history.sqlite`)."""
        return self.root / "history.sqlite"

    @property
    def captures(self) -> Path:
        """Bundles and verdicts."""
        return self.root / "captures"

    @property
    def stacks(self) -> Path:
        """One file for each process, which `faulthandler` fills when it freezes."""
        return self.root / "stacks"

    def board(self, host: str, pid: int) -> Path:
        """The board of one process."""
        return self.boards / f"{host}-{pid}.board"

    def orders(self, host: str) -> Path:
        """What the agent of a host asks of its probes."""
        return self.root / "orders" / f"{host}.json"

    def agent(self, host: str) -> Path:
        """The heartbeat of the agent of a host."""
        return self.root / "agents" / f"{host}.json"

    @property
    def output_root(self) -> Path:
        """Copies of what the job printed, a folder for each host."""
        return self.root / "output"

    def output(self, host: str) -> Path:
        """Copies of what the job printed on a host."""
        return self.output_root / host

    def dump(self, number: int) -> Path:
        """Where the probes put what one order asked for."""
        return self.root / "dumps" / str(number)

    @property
    def watchdog(self) -> Path:
        """Where the job's own watchdogs put their dumps."""
        return self.root / "dumps" / "watchdog"

    def last_dump(self) -> int:
        """The highest number of an order that was served here; 0 = none."""
        numbers = (p.name for p in (self.root / "dumps").glob("*") if p.name.isdigit())
        return max(map(int, numbers), default=0)

    def make(self) -> None:
        """Make all folders, for their owner only: command lines and outputs are nobody else's.

        Raises:
            OSError: the disk is full, read-only, or not ours.
        """
        for folder in (
            self.boards,
            self.captures,
            self.stacks,
            *(self.root / n for n in ("orders", "agents", "output", "dumps")),
        ):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(OWNER_ONLY)
