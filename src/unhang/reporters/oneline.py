"""The verdict on one line of 200 characters at most: for a ticket, a log, an epilog of a scheduler.

`ROOT CAUSE checkpoint_slow 93% | rank 3 on gpu-07 | … | fix: …`; what does not fit is cut at the
end, and the culprit never is.
"""

from __future__ import annotations

from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.printable import one_line
from unhang.reporters.style import PLAIN, Style

MOST = 200
_LEAST = 24
"""Characters below which a cut part says nothing."""


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the line, without a line end."""
    parts = [
        _head(diagnosis),
        *_likely(diagnosis, style.language),
        *_who(diagnosis, style.language),
    ]
    if diagnosis.phase is not None:
        parts.append(diagnosis.phase.value)
    parts.append(_plain(write(diagnosis.summary, style.language)))
    remedy = _remedy(diagnosis, style.language)
    room = MOST - sum(len(part) + 3 for part in parts[:-1])
    if remedy and len(parts[-1]) + len(remedy) + 3 > room:
        half = max(_LEAST, room - min(len(remedy), max(_LEAST, room // 2)) - 3)
        parts[-1] = _cut(parts[-1], half)
    line = " | ".join((*parts, *([remedy] if remedy else [])))
    return _cut(line, MOST)


def _head(diagnosis: Diagnosis) -> str:
    cause, sure = diagnosis.cause, f"{diagnosis.confidence:.0%}"
    if diagnosis.outcome is Outcome.CAUSE and cause is not None:
        return f"{cause.value} {sure}"
    return diagnosis.outcome.value


def _likely(diagnosis: Diagnosis, language: str) -> list[str]:
    """The likely cause, where none is shown."""
    if diagnosis.likely is None:
        return []
    cause, chance = diagnosis.likely.cause.value, round(diagnosis.likely.chance * 100)
    message = Message(key="likely.line", values={"cause": cause, "percent": chance})
    return [write(message, language)]


def _who(diagnosis: Diagnosis, language: str) -> list[str]:
    if not diagnosis.culprits:
        return []
    who = write(Message(key="standing.ranks", values={"ranks": diagnosis.culprits}), language)
    hosts = ",".join(sorted(diagnosis.culprit_hosts)[:3])
    return [_plain(f"{who} @ {hosts}" if hosts else who)]


def _remedy(diagnosis: Diagnosis, language: str) -> str:
    """The first thing to do: a fix, else what would decide."""
    if diagnosis.fixes:
        return _plain(write(diagnosis.fixes[0].title, language))
    if diagnosis.outcome is not Outcome.HEALTHY and diagnosis.collect_next:
        return _plain(write(diagnosis.collect_next[0].how, language))
    return ""


def _plain(text: str) -> str:
    return " ".join(one_line(text).replace("|", "/").split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
