"""What people are told, as facts; and the same as words of a language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang.model.ids import NO_RANKS, Ranks
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.printable import one_line

_VALUE_LIMIT = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something of a run, or of many jobs, that people want to know at once.

    Attributes:
        kind: as in `events.jsonl`: `hang_confirmed`, `captured`, `resumed`, `aborted`, `exited`;
            `jobs_failed` of many jobs.
        at: ISO 8601 with zone.
        run: what the run is called, or the folders of many jobs.
        host: where it is noticed.
        summary: one sentence, in the language of the reader.
        culprits: ranks that hold the others up.
        phase: what they were in (`save`), or None.
        since_s: how long it has lasted.
        cause: the root cause, or None while there is none.
        folder: the run folder or the bundle, where the rest is to be found.
        failures: jobs that failed, each with its reason.
        exclude: hosts at which failures recur.
    """

    kind: str
    at: str
    run: str
    host: str
    summary: str
    culprits: Ranks = NO_RANKS
    phase: str | None = None
    since_s: float | None = None
    cause: str | None = None
    folder: str | None = None
    failures: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """An alert in words: a title, a sentence, and labelled facts; all on single lines."""

    title: str
    summary: str
    facts: tuple[tuple[str, str], ...]

    @property
    def plain(self) -> str:
        """The sentence and the facts, one a line."""
        return "\n".join((self.summary, *(f"{label}: {value}" for label, value in self.facts)))


def in_words(alert: Alert, language: str) -> Text:
    """Put an alert into words."""
    title = Message(key=f"notify.title.{alert.kind}", values={"run": alert.run})
    return Text(
        title=_safe(write(title, language)),
        summary=_safe(alert.summary),
        facts=tuple(_facts(alert, language)),
    )


def _facts(alert: Alert, language: str) -> Iterator[tuple[str, str]]:
    told: tuple[tuple[str, object], ...] = (
        ("culprits", alert.culprits or None),
        ("phase", alert.phase),
        ("since", alert.since_s),
        ("cause", alert.cause),
        *(("failure", failure) for failure in alert.failures),
        ("exclude", ",".join(alert.exclude) or None),
        ("host", alert.host),
        ("at", alert.at),
        ("folder", alert.folder),
    )
    for name, value in told:
        if value is not None:
            label = write(Message(key=f"notify.label.{name}"), language)
            shown = write(Message(key=f"notify.value.{name}", values={"value": value}), language)
            yield label, _safe(shown)


def _safe(text: str) -> str:
    """On one line, without control characters, of bounded length."""
    return one_line(text)[:_VALUE_LIMIT]
