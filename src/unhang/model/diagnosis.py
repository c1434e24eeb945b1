"""The verdict on one incident, and on all that was given."""

from __future__ import annotations

import enum
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unhang.model.activity import ActivityMap
from unhang.model.causes import Cause
from unhang.model.contents import Contents
from unhang.model.coverage import Coverage
from unhang.model.finding import Collect, Finding, Strength
from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.incident import Call
from unhang.model.likely import Likely, Sign
from unhang.model.phases import Phase
from unhang.model.provenance import Message, Problem, Provenance
from unhang.model.stack_states import StackClass
from unhang.model.statement import Statement
from unhang.model.waits import NO_WAITS, Analysis


class Outcome(enum.Enum):
    """What kind of verdict this is."""

    CAUSE = "cause"
    LOCATED = "located"
    """Who and where are known, why is not."""
    UNDETERMINED = "undetermined"
    HEALTHY = "healthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryItem:
    """One step of what happened. `at` is the printed time, as the log writes it, or None."""

    at: str | None
    ranks: Ranks
    what: Message
    evidence: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One possible cause with what speaks for and against it."""

    cause: Cause
    confidence: float
    strength: Strength
    culprits: Ranks
    culprit_hosts: frozenset[str]
    claim: Message
    why: Message
    against: Message | None
    rules: tuple[str, ...]
    evidence: tuple[Provenance, ...]
    phase: Phase | None = None


class FixKind(enum.Enum):
    """Whether a fix removes the cause, goes around it, or finds out more."""

    CURE = "cure"
    WORKAROUND = "workaround"
    PROBE = "probe"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One thing to do, in the user's own framework's syntax.

    Attributes:
        remedy: what is done, in one word: `save_rarely`. `unhang fix` computes its values anew.
        version: the framework's release for which it is written, where that is known.
    """

    title: Message
    kind: FixKind
    framework: str
    where: str
    patch: str
    reaches: str
    risk: Message
    verify: Message
    remedy: str = ""
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedAdvice:
    """A setting found in the user's files that does nothing."""

    setting: str
    found_in: str
    reason: Message


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of an artifact, as one text; `first` is the number of the first of them."""

    first: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What the judgement cost."""

    files: int = 0
    size_bytes: int = 0
    events: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The verdict. Field by field the JSON contract `unhang.diagnosis/1`.

    Attributes:
        contents: what the call carries, for each form in which it was issued.
        located: the finding behind the outcome "located"; a cause has its candidate.
        warnings: findings that a person must see whatever the verdict is.
        statements: which kind of source says what for or against the verdict.
        standings: where the ranks stood when their stacks were taken, by class.
        earlier: verdicts on earlier incarnations, oldest first; this one is the last failed.
        likely: the most probable cause, where none is shown and anything points to one.
        signs: what was weighed for it.
        fired: codes of all rules that said something, locating ones too, in their order.
        missing_facts: rule codes that could not run, with the names of the facts they lacked.
        unread: lines that look like a failure and that nothing understood, the likeliest first;
            none where a cause is known.
        redacted: how often each kind of secret was replaced in the texts; None = nobody looked.
        waits: who waits in which call for whom.
        activity: what each rank did over time, where somebody asked for it.
        excerpts: lines around quoted ones by artifact and line, where somebody asked for them.
    """

    outcome: Outcome
    cause: Cause | None = None
    confidence: float = 0.0
    strength: Strength | None = None
    culprits: Ranks = NO_RANKS
    culprit_hosts: frozenset[str] = frozenset()
    victims: Ranks = NO_RANKS
    phase: Phase | None = None
    call: Call | None = None
    contents: tuple[Contents, ...] = ()
    summary: Message
    story: tuple[StoryItem, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    located: Finding | None = None
    fixes: tuple[Fix, ...] = ()
    advice_rejected: tuple[RejectedAdvice, ...] = ()
    collect_next: tuple[Collect, ...] = ()
    warnings: tuple[Finding, ...] = ()
    statements: tuple[Statement, ...] = ()
    standings: tuple[StackClass, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    problems: tuple[Problem, ...] = ()
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    framework: tuple[str, str] | None = None
    stats: Stats = field(default_factory=Stats)
    incarnation: int = 0
    incarnations: int = 1
    unread: tuple[Provenance, ...] = ()
    earlier: tuple[Diagnosis, ...] = ()
    likely: Likely | None = None
    signs: tuple[Sign, ...] = ()
    fired: tuple[str, ...] = ()
    missing_facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    redacted: Mapping[str, int] | None = None
    waits: Analysis = NO_WAITS
    activity: ActivityMap | None = None
    excerpts: Mapping[tuple[str, int], Excerpt] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether the job failed or hangs, as far as anything shows it."""
        if self.outcome is Outcome.UNDETERMINED:
            return self.call is not None or len(self.candidates) > 0
        return self.outcome is not Outcome.HEALTHY

    def to_dict(self) -> dict[str, Any]:
        """The JSON contract `unhang.diagnosis/1` as plain data."""
        data = json.loads(_rendered("json", self))
        assert isinstance(data, dict)
        return data

    def to_line(self, language: str = "en") -> str:
        """The verdict in at most 200 characters, for a ticket or a table."""
        return _rendered("oneline", self, language)

    def _repr_html_(self) -> str:
        """For a cell of a notebook."""
        return _rendered("notebook", self)


def _rendered(form: str, diagnosis: Diagnosis, language: str = "en") -> str:
    """Reports are above the model in the order of imports, and are found by their name."""
    style = importlib.import_module("unhang.reporters.style").Style(language=language)
    text: str = importlib.import_module("unhang.reporters").render(diagnosis, form, style)
    return text
