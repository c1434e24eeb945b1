"""What a look at settings found, before any job failed."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.provenance import Message, Problem


class Severity(enum.Enum):
    """How much a setting matters."""

    ERROR = "error"
    """It breaks the job or blinds whoever looks for the cause."""
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPlace:
    """Where a setting is written.

    Attributes:
        artifact: a path, `env` (this process), or `rank 3` or `pid 42` (another process).
        line: one-based, or None where there are no lines.
    """

    artifact: str
    line: int | None = None

    def __str__(self) -> str:
        return self.artifact if self.line is None else f"{self.artifact}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing wrong with one setting.

    Attributes:
        code: stable, such as `CFG101`.
        value: as written; None where it is computed when the job starts, or where nothing is set.
        reason: the sentence for the user; `lint.<code>.why` in the catalogue tells why it matters.
        replacement: what to write in its place; None = drop it.
        mechanical: the replacement means what stands there, so that `--fix` may write it.
    """

    code: str
    severity: Severity
    setting: str
    value: str | None
    where: SettingPlace
    reason: Message
    replacement: str | None = None
    mechanical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """Everything that was found.

    Attributes:
        findings: in the order of places.
        files: how many files and processes were read; `settings` how many settings in them.
        problems: what could not be read.
    """

    findings: tuple[LintFinding, ...] = ()
    files: int = 0
    settings: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether anything is worse than a remark."""
        return any(finding.severity is not Severity.INFO for finding in self.findings)
