"""From folders of labelled jobs to cases, whatever the format of their labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from unhang.model import toml

UNDETERMINED = "undetermined"
HEALTHY = "healthy"
_NOT_TOLD = frozenset({"unknown", UNDETERMINED, HEALTHY, "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One labelled job.

    Attributes:
        corpus, name: together they name the case.
        source: who wrote the log, as far as the name tells; large sources are told apart.
        inputs: the files and folders that the judge is given.
        accept: causes that a fair judge accepts from these files alone, and the outcomes
            `undetermined` and `healthy`.
        must_not: causes that would be false blame.
        culprits: what the files prove; None where they do not.
        healthy: the job did not fail: any cause is false blame.
        suffices: a careful expert can name the cause from these files.
        codes_must, codes_must_not: rules that have to fire, and those that must stay quiet.
        phase: phase of the job at the failure; None where it does not matter.
        cause: the cause that was told afterwards, whether or not the files show it, or None.
        truth: the same, and the causes that go with it.
        why: one sentence on the label.
    """

    corpus: str
    name: str
    source: str
    inputs: tuple[Path, ...]
    accept: frozenset[str]
    must_not: frozenset[str]
    culprits: frozenset[int] | None
    healthy: bool
    suffices: bool
    codes_must: frozenset[str] = frozenset()
    codes_must_not: frozenset[str] = frozenset()
    phase: str | None = None
    why: str = ""
    cause: str | None = None
    truth: frozenset[str] = frozenset()

    @property
    def causes(self) -> frozenset[str]:
        """The accepted causes, without the outcomes that name none."""
        return self.accept - {UNDETERMINED, HEALTHY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A set of labelled jobs.

    Attributes:
        key: its name on the command line.
        title: its name in reports.
        own: it belongs to the project and is always there.
    """

    key: str
    title: str
    root: Path
    own: bool
    read: Callable[[Corpus, Path], Case]

    def cases(self) -> Iterator[Case]:
        """The cases in the order of their names; none where the corpus is not there."""
        if self.root.is_dir():
            for folder in sorted(p for p in self.root.iterdir() if p.is_dir()):
                if any((folder / label).is_file() for label in ("expected.toml", "case.json")):
                    yield self.read(self, folder)


def find_corpora(repository: Path, external: Path) -> tuple[Corpus, ...]:
    """Return the project's own corpus and the two external ones."""
    return (
        Corpus(
            key="own",
            title="scenarios of this project",
            root=repository / "tests" / "cases",
            own=True,
            read=_read_expected,
        ),
        Corpus(
            key="threads",
            title="public threads, retold",
            root=external / "cases",
            own=False,
            read=read_label,
        ),
        Corpus(
            key="logs",
            title="full public logs",
            root=external / "reallogs",
            own=False,
            read=read_label,
        ),
    )


def _read_expected(corpus: Corpus, folder: Path) -> Case:
    """`expected.toml` beside `input/`."""
    label = toml.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    accept = frozenset(label.get("accept", [label["cause"]] if "cause" in label else []))
    assert accept, f"{folder.name}: expected.toml accepts nothing"
    return Case(
        corpus=corpus.key,
        name=folder.name,
        source="unhang",
        inputs=(folder / "input",),
        accept=accept,
        must_not=frozenset(label.get("must_not", [])),
        culprits=_culprits(label.get("culprits")),
        healthy=label.get("healthy", HEALTHY in accept),
        suffices=label.get("log_suffices", True),
        codes_must=frozenset(label.get("codes_must", [])),
        codes_must_not=frozenset(label.get("codes_must_not", [])),
        phase=label.get("phase"),
        why=label.get("why", ""),
    )


def read_label(corpus: Corpus, folder: Path) -> Case:
    """Read `case.json` and what stands beside it: files, or `input/`."""
    label: Mapping[str, object] = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    healthy = label.get("healthy") is True or label.get("kind") == HEALTHY
    return Case(
        corpus=corpus.key,
        name=folder.name,
        # Names of healthy logs begin with `h-`.
        source=folder.name.removeprefix("h-").partition("-")[0],
        inputs=_inputs(folder, label),
        accept=_words(label.get("accept")) or frozenset({HEALTHY, UNDETERMINED}),
        must_not=_words(label.get("must_not")),
        culprits=_culprits(label.get("culprit_ranks")),
        healthy=healthy,
        suffices=label.get("log_suffices") is True or healthy,
        cause=_cause(label),
        truth=_truth(label),
        why=str(label.get("culprit_why") or label.get("what_happened") or ""),
    )


def _inputs(folder: Path, label: Mapping[str, object]) -> tuple[Path, ...]:
    """What the label names; without it, or beside it, whatever else the folder holds."""
    named = label.get("log_file")
    if isinstance(named, str) and (folder / named).is_dir():
        return (folder / named,)
    return tuple(sorted(path for path in folder.iterdir() if path.name != "case.json"))


def _truth(label: Mapping[str, object]) -> frozenset[str]:
    """What happened, whether or not the files tell it: the cause and what goes with it."""
    cause = _cause(label)
    return frozenset() if cause is None else _words(label.get("also")) | {cause}


def _cause(label: Mapping[str, object]) -> str | None:
    cause = label.get("cause")
    return cause if isinstance(cause, str) and cause not in _NOT_TOLD else None


def _words(value: object) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()


def _culprits(value: object) -> frozenset[int] | None:
    return frozenset(int(rank) for rank in value) if isinstance(value, list) else None
