"""What the stages of the ramp found so far: the stages, and the suspects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from unhang.model.preflight import Stage, Status, Suspect
from unhang.model.provenance import Message


@dataclass(slots=True)
class RampResults:
    """Stages and suspects, in the order in which they were found.

    Attributes:
        ranks: of each host, by its name, in the order of their first ranks.
    """

    stages: list[Stage] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    ranks: dict[str, list[int]] = field(default_factory=dict)

    def passed(
        self,
        name: str,
        values: Mapping[str, object],
        measured: Mapping[str, object] | None = None,
    ) -> None:
        """A stage found nothing."""
        message = Message(key=f"stage.{name}", values=values)
        self.stages.append(
            Stage(name=name, status=Status.PASS, message=message, measured=measured or {})
        )

    def failed(
        self,
        name: str,
        sentence: str,
        values: Mapping[str, object],
        *,
        ranks: frozenset[int] = frozenset(),
        measured: Mapping[str, object] | None = None,
        status: Status = Status.FAIL,
        host: str = "",
    ) -> None:
        """A stage found something; `sentence` names what is said of it and what to do."""
        self.stages.append(
            Stage(
                name=name,
                status=status,
                message=Message(key=f"stage.{sentence}", values=values),
                do=Message(key=f"stage_do.{sentence}", values=values),
                ranks=ranks,
                host=host,
                measured=measured or {},
            )
        )

    def skipped(self, names: Iterable[str], sentence: str = "not_reached") -> None:
        """Stages that could not be run, and why."""
        message = Message(key=f"stage.{sentence}")
        self.stages += [Stage(name=n, status=Status.SKIP, message=message) for n in names]

    def suspect(self, stage: str, host: str, why: Message, status: Status = Status.FAIL) -> None:
        """A stage names a host."""
        ranks = frozenset(self.ranks.get(host, ()))
        self.suspects.append(Suspect(stage=stage, host=host, ranks=ranks, why=why, status=status))

    def took(self, seconds: float, first: int) -> None:
        """The stages from the place `first` on took so long, but for those that know better."""
        self.stages[first:] = [
            stage if stage.seconds else replace(stage, seconds=seconds)
            for stage in self.stages[first:]
        ]
