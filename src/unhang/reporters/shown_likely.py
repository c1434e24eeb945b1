"""How the signs for and against a likely cause are shown: sentences of one language."""

from __future__ import annotations

from unhang.model.likely import CountedSign, Sign
from unhang.model.provenance import Message
from unhang.reporters.catalogue import write

_IN_WORDS = frozenset({"call", "words", "end", "exception"})
"""Signs whose values are sentences of their own; of the others the value is an id or a name."""
_PHASES = frozenset({"phase", "unfinished", "last phase"})
_LEAST_JOBS = 5
"""From fewer no share is told."""


def shown_sign(counted: CountedSign, language: str) -> str:
    """Say what the sign is, and how often it was counted."""
    shown = write(_message(counted.sign, language), language)
    if counted.jobs < _LEAST_JOBS:
        return shown
    values = {
        "sign": shown,
        "percent": round(100 * counted.with_cause / counted.jobs),
        "jobs": round(counted.jobs),
    }
    return write(Message(key="likely.counted", values=values), language)


def _message(sign: Sign, language: str) -> Message:
    kind, value = sign.kind.replace(" ", "_"), sign.value
    if sign.kind in _IN_WORDS:
        return Message(key=f"sign.{kind}.{value.replace('-', '_')}")
    if sign.kind in _PHASES:
        value = write(Message(key=f"phase.{value}"), language)
    return Message(key=f"sign.{kind}", values={"value": value.replace("-", " ")})
