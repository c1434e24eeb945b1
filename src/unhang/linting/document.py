"""What a reader says of one file, process or environment: the settings in it, and hints."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

from unhang.linting.syntax import RepeatedKey
from unhang.model.lint import SettingPlace


class SettingKind(enum.Enum):
    """What a setting is written as."""

    VARIABLE = "variable"
    OPTION = "option"
    """A flag, a Hydra override, a key of a configuration, a keyword of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One setting as somebody wrote it.

    Attributes:
        value: without quotes; None where it is computed when the job starts.
        certain: it stands outside of branches: it holds in every run.
    """

    name: str
    value: str | None
    place: SettingPlace
    kind: SettingKind
    certain: bool = True


@dataclass(slots=True)
class SettingsDocument:
    """Everything that was read of one source.

    Attributes:
        reads: variables that code in it reads for itself.
        programs: frameworks whose programs it starts, or that it configures.
        torchrun: it starts torchrun, or accelerate, which uses it.
        nodes: number of hosts, where it tells.
        rank: the rank whose environment it is, as the environment tells.
        running: it is the environment of a process, not a file about one.
        mentions: configurations and scripts that it names, as it spells them.
        becomes: the file that a here-document is written to.
        dotted: of a JSON, the plain values by their dotted keys.
        error: why it does not parse, where it does not.
        script: the text of a batch script.
        text: the whole file, as it stands.
        repeated: of a YAML, the keys that stand twice in one mapping.
    """

    name: str
    settings: list[Written] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    torchrun: bool = False
    nodes: int | None = None
    rank: str | None = None
    running: bool = False
    mentions: set[str] = field(default_factory=set)
    becomes: str | None = None
    dotted: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    script: str = ""
    text: str = ""
    repeated: list[RepeatedKey] = field(default_factory=list)

    def add(
        self,
        name: str,
        value: str | None,
        line: int | None,
        kind: SettingKind,
        *,
        certain: bool = True,
    ) -> None:
        """Note one setting."""
        place = SettingPlace(artifact=self.name, line=line)
        self.settings.append(
            Written(name=name, value=value, place=place, kind=kind, certain=certain)
        )

    def shift(self, lines: int) -> None:
        """Move every setting down by so many lines."""
        self.settings = [
            replace(
                written,
                place=SettingPlace(
                    artifact=written.place.artifact, line=(written.place.line or 0) + lines
                ),
            )
            for written in self.settings
        ]

    def note_nodes(self, count: int) -> None:
        """Note a number of hosts; the largest that is told counts."""
        if count > 0:
            self.nodes = count if self.nodes is None else max(self.nodes, count)
