"""From a diagnosis to the JSON contract `unhang.diagnosis/1`.

The contract is published as a JSON Schema, `schemas/diagnosis-1.json` beside this module. Within
one version of it fields are only added. Ranks that are held up may be thousands and are printed as
ranges (`"0-2,4-511"`); culprits are few and are a list of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from unhang import lazy_re as re
from unhang.model.contents import Contents
from unhang.model.diagnosis import Candidate, Diagnosis, Fix, RejectedAdvice, StoryItem
from unhang.model.finding import Collect, Finding
from unhang.model.ids import format_ranks
from unhang.model.incident import Call
from unhang.model.likely import CountedSign, Likely
from unhang.model.stack_states import StackClass
from unhang.model.statement import Statement
from unhang.reporters.fields import fields, plain
from unhang.reporters.shown_call import ShownCall
from unhang.reporters.shown_likely import shown_sign
from unhang.reporters.style import PLAIN, Style

SCHEMA = "unhang.diagnosis/1"
_DIGITS = 3
"""Behind the point of each number."""

_UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that act on a terminal, or that cannot be encoded; JSON allows them raw."""


def render(diagnosis: Diagnosis, style: Style = PLAIN) -> str:
    """Return the JSON text, without a line end."""
    return dumps(as_dict(diagnosis, style.language))


def dumps(value: object) -> str:
    """Write JSON that people can read, and that does nothing to a terminal."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def as_dict(diagnosis: Diagnosis, language: str = "en") -> dict[str, object]:
    """Return the contract as plain data."""
    return {"schema": SCHEMA, **_JsonWriter(language).verdict(diagnosis)}


class _JsonWriter:
    """Turns the nouns of a diagnosis into plain data, with sentences in one language."""

    def __init__(self, language: str) -> None:
        self._language = language

    def verdict(self, d: Diagnosis) -> dict[str, object]:
        """Everything but the name of the schema."""
        return {
            **self._fields(d, "outcome cause confidence strength"),
            "culprits": sorted(d.culprits),
            "culprit_hosts": sorted(d.culprit_hosts),
            **self._fields(d, "victims phase"),
            "call": None if d.call is None else _call(d.call, d.contents),
            **self._fields(d, "summary"),
            "story": [self._step(item) for item in d.story],
            "candidates": [self._candidate(c) for c in d.candidates],
            "located_by": None if d.located is None else self._located(d.located),
            "likely": None if d.likely is None else self._likely(d.likely),
            "fixes": [self._fix(fix) for fix in d.fixes],
            "advice_rejected": [self._rejected(advice) for advice in d.advice_rejected],
            **self._fields(d, "unread"),
            "collect_next": [self._collect(collect) for collect in d.collect_next],
            "warnings": [self._located(warning) for warning in d.warnings],
            "sources": [self._statement(statement) for statement in d.statements],
            "stacks": [_standing(standing) for standing in d.standings],
            **_basis(d),
            **self._fields(d, "incarnation incarnations"),
            "earlier": [self.verdict(earlier) for earlier in d.earlier],
        }

    def _fields(self, noun: object, names: str) -> dict[str, object]:
        return fields(noun, names, self._language, _DIGITS)

    def _step(self, item: StoryItem) -> dict[str, object]:
        return self._fields(item, "at ranks what evidence")

    def _candidate(self, candidate: Candidate) -> dict[str, object]:
        return {
            **self._fields(candidate, "cause confidence strength"),
            "culprits": sorted(candidate.culprits),
            "culprit_hosts": sorted(candidate.culprit_hosts),
            **self._fields(candidate, "phase claim why against rules evidence"),
        }

    def _likely(self, likely: Likely) -> dict[str, object]:
        return {
            **self._fields(likely, "cause chance"),
            "culprits": sorted(likely.culprits),
            "signs": [self._sign(sign) for sign in likely.signs],
            "against": [self._sign(sign) for sign in likely.against],
            "rivals": [self._fields(rival, "cause chance") for rival in likely.rivals],
            "decides": self._collect(likely.decides),
        }

    def _sign(self, counted: CountedSign) -> dict[str, object]:
        return {
            "sign": counted.sign.name,
            "text": shown_sign(counted, self._language),
            "jobs": round(counted.jobs, 1),
            "with_cause": round(counted.with_cause, 1),
            "evidence": plain(counted.sign.source),
        }

    def _located(self, finding: Finding) -> dict[str, object]:
        return self._fields(finding, "rule claim why against evidence")

    def _statement(self, statement: Statement) -> dict[str, object]:
        return self._fields(statement, "source bearing rule claim ranks against evidence")

    def _fix(self, fix: Fix) -> dict[str, object]:
        told = self._fields(fix, "title kind framework where patch reaches risk verify")
        return {**told, "remedy": fix.remedy or None, "version": fix.version}

    def _rejected(self, advice: RejectedAdvice) -> dict[str, object]:
        return self._fields(advice, "setting found_in reason")

    def _collect(self, collect: Collect) -> dict[str, object]:
        return self._fields(collect, "what how decides")


def _basis(d: Diagnosis) -> dict[str, object]:
    """What the verdict rests on: coverage, problems, versions, cost."""
    return {
        "coverage": fields(d.coverage, "world_size ranks_seen ranks_silent lines_dropped sources"),
        "problems": [fields(p, "artifact component message") for p in d.problems],
        "versions": {name: _known(version) for name, version in d.versions.items()},
        "framework": None if d.framework is None else _named(d.framework),
        "missing_facts": {code: list(facts) for code, facts in d.missing_facts.items()},
        "redacted": None if d.redacted is None else dict(d.redacted),
        "stats": fields(d.stats, "files bytes=size_bytes events seconds", digits=_DIGITS),
    }


def _known(version: tuple[str, str]) -> dict[str, str]:
    return {"value": version[0], "basis": version[1]}


def _named(framework: tuple[str, str]) -> dict[str, str]:
    return {"name": framework[0], "basis": framework[1]}


def _standing(standing: StackClass) -> dict[str, object]:
    first = standing.first
    return {
        **fields(standing, "ranks unnamed"),
        **fields(first, "doing phase op frame code"),
        "parts_at": standing.parts_at,
        "path": [step.place for step in first.path],
        "evidence": plain(first.source),
    }


def _call(call: Call, contents: Iterable[Contents]) -> dict[str, object]:
    shown = ShownCall.of(call)
    return {
        **fields(shown, "op seq group"),
        "group_ranks": _ranges(call.members),
        **fields(shown, "numel_in numel_out timeout_ms elapsed_ms"),
        "joined": format_ranks(shown.joined),
        "absent": format_ranks(call.absent),
        "contents": [_contents(each) for each in contents],
    }


def _contents(contents: Contents) -> dict[str, object]:
    fits = [fields(r, "models tensors layout numel formula") for r in contents.readings]
    return {**fields(contents, "ranks numel_in numel_out group_size"), "fits": fits}


def _ranges(ranks: Iterable[int] | None) -> str | None:
    return None if ranks is None else format_ranks(ranks)
