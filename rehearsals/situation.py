"""What a situation is: a framework's own job, what goes wrong in it, the verdict that is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsals.environments import Environment
from unhang.model.causes import Cause
from unhang.model.phases import Phase

Patches = Mapping[str, Mapping[str, object]]
"""By module of `scripts/site/situation_site`, its settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SituationRemedy:
    """How the job is made to finish.

    `unhang fix` is always asked first, with the files of the job.

    Attributes:
        says: one sentence for people.
        files: of the job, as `unhang fix` gets them.
        written: one of them can carry the remedy, and `unhang fix` writes it; else it must leave
            all of them as they are and say why.
        edits: what a person then changes: file, old text, new text.
        first: a command that runs once before the job, without the fault's slowness in its way.
        healed: what was broken lay outside of the job. With the fault, the job fails again under
            what `unhang fix` wrote; it is run once more after the repair.
    """

    says: str
    files: tuple[str, ...]
    written: bool = True
    edits: tuple[tuple[str, str, str], ...] = ()
    first: tuple[str, ...] = ()
    healed: bool = False

    @property
    def by(self) -> str:
        """Who puts the remedy in place."""
        if self.healed:
            return "a repair outside of the job"
        return "`unhang fix`" if self.written else "hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One situation.

    Attributes:
        name: in the words of the command line.
        summary: what happens, one line.
        environment: what it runs in.
        overlay: of the environment, or None.
        packages: whose versions are worth telling.
        job: folder of `scripts` with its files; `prepare.py` in it makes models and data.
        command: starts the job.
        lint_as: package whose release `unhang lint` is told, where its files do not show it.
        world: number of ranks.
        patches: what lets the framework run on a CPU.
        fault: what goes wrong.
        cause, culprits, phase: the truth.
        accept: other answers that are fair.
        legitimate: the late rank works, and would arrive: `--timeouts judge` must save the job.
        fails_with: words that the failed job prints.
        finishes_with: words that only a finished job prints.
        remedy: that lets it finish.
        settle_s: from the fault until the evidence is taken; less than the collective timeout.
        within_s: seconds after which an attempt is ended.
        real, played: what is the framework's own, and what is not; sentences.
        logs_lack: why the logs alone cannot tell the cause; None where they can.
    """

    name: str
    summary: str
    environment: Environment
    overlay: str | None = None
    packages: tuple[str, ...]
    job: str
    command: tuple[str, ...] = ("sh", "train.sh")
    lint_as: str | None = None
    world: int = 2
    patches: Patches = field(default_factory=dict)
    fault: Patches
    cause: Cause
    culprits: frozenset[int]
    phase: Phase | None
    accept: tuple[str, ...] = ()
    legitimate: bool = True
    fails_with: str
    finishes_with: str
    remedy: SituationRemedy
    settle_s: float = 5.0
    within_s: float = 900.0
    real: str
    played: str
    logs_lack: str | None = None

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions that are worth telling, torch among them."""
        told = {name: self.environment.version(name) for name in (*self.packages, "torch")}
        if self.overlay is not None:
            told[self.packages[0]] = self.overlay
        return told
