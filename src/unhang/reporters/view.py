"""From a diagnosis to what a page shows: plain words, already harmless, in one language.

Both readers' reports (terminal, Markdown) are made in two steps: `view` decides what is said and
how much of it, and tests compare its data; rendering only sets it.
"""

from __future__ import annotations

from collections.abc import Iterable

from unhang.architectures import tell_contents
from unhang.model.diagnosis import Candidate, Diagnosis, Fix, Outcome
from unhang.model.finding import Collect, Finding
from unhang.model.ids import NO_RANKS
from unhang.model.incident import Call
from unhang.model.likely import CountedSign
from unhang.model.provenance import Message, Provenance
from unhang.model.rule import Fact
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.catalogue.by_text import translated, translated_patch
from unhang.reporters.parts import (
    EventStep,
    FixText,
    LabelledText,
    NextEvidenceText,
    PageLimits,
    View,
)
from unhang.reporters.printable import block, one_line
from unhang.reporters.quoting import Quoting
from unhang.reporters.shown_call import ShownCall
from unhang.reporters.shown_likely import shown_sign
from unhang.reporters.shown_reach import shown_reach
from unhang.reporters.shown_stack_class import shown_standing

_RECORDS = (Fact.STATUS, Fact.PHASES, Fact.STACKS, Fact.NCCL_INFO, Fact.KERNEL_LOG)
"""Facts that a job can be made to record. The lack of the others (errors) is good news."""

_MOST_SIGNS, _MOST_AGAINST = 2, 1
"""Signs that are shown for, and against, a likely cause; JSON has all."""

_LONGEST_TIME = 32
"""Characters of a printed time: more is no time."""


def view(diagnosis: Diagnosis, language: str, limits: PageLimits) -> View:
    """Say `diagnosis` in words of `language`, within `limits`."""
    return _ViewWriter(diagnosis, language, limits).view()


class _ViewWriter:
    """Writes one diagnosis; holds what all sections need."""

    def __init__(self, diagnosis: Diagnosis, language: str, limits: PageLimits) -> None:
        self._diagnosis = diagnosis
        self._language = language
        self._limits = limits
        self._lines = Quoting(diagnosis, language, limits)

    def view(self) -> View:
        diagnosis, limits = self._diagnosis, self._limits
        leading = _leading(diagnosis)
        basis = leading or diagnosis.located
        return View(
            outcome=diagnosis.outcome,
            badge=self.say(f"outcome.{diagnosis.outcome.value}"),
            cause="" if diagnosis.cause is None else diagnosis.cause.value,
            meaning="" if diagnosis.cause is None else self.say(f"cause.{diagnosis.cause.value}"),
            summary=self.sentence(diagnosis.summary),
            warnings=tuple(self._warnings()),
            facts=tuple(self._facts()),
            why="" if basis is None else self.sentence(basis.why),
            against="" if basis is None else self.optional(basis.against),
            evidence=() if basis is None else self._lines.quotes(basis.evidence),
            likely=tuple(self._likely()),
            unread=self._lines.quotes(diagnosis.unread),
            sources=tuple(self._sources()),
            standings=tuple(self._standings()),
            story=self._story(),
            fixes=tuple(self._remedies()),
            more_fixes=self._more_fixes(),
            rejected=tuple(
                LabelledText(
                    label=one_line(f"{r.setting} ({r.found_in})"), text=self.sentence(r.reason)
                )
                for r in diagnosis.advice_rejected
            ),
            collect=tuple(self._errand(c) for c in diagnosis.collect_next[: limits.collect]),
            others=tuple(self._others(leading)),
            unseen=tuple(self._unseen()),
            problems=tuple(self._problems()),
            earlier=tuple(self._earlier()),
            footer=tuple(self._footer(_rule_of(basis))),
        )

    def say(self, key: str, **values: object) -> str:
        return one_line(write(Message(key=key, values=values), self._language))

    def sentence(self, message: Message) -> str:
        return one_line(sentence(message, self._language))

    def optional(self, message: Message | None) -> str:
        return "" if message is None else self.sentence(message)

    def _warnings(self) -> Iterable[str]:
        warnings, most = self._diagnosis.warnings, self._limits.warnings
        for warning in warnings[:most]:
            yield f"{self.sentence(warning.claim)} {self.sentence(warning.why)}"
        if len(warnings) > most:
            yield self.say("label.more", count=len(warnings) - most)

    def _facts(self) -> Iterable[LabelledText]:
        diagnosis = self._diagnosis
        if diagnosis.culprits or diagnosis.culprit_hosts:
            yield self._fact("culprit", self._culprits(diagnosis))
        if diagnosis.victims:
            yield self._fact("waiting", self.say("fact.waiting", ranks=diagnosis.victims))
        if diagnosis.phase is not None:
            yield self._fact("phase", self.say(f"phase.{diagnosis.phase.value}"))
        if diagnosis.call is not None:
            yield self._fact("call", self._call(diagnosis.call))
        contents = self._contents(diagnosis)
        if contents:
            yield self._fact("contents", contents)
        if diagnosis.cause is not None and diagnosis.strength is not None:
            text = self.say(
                "fact.confidence",
                percent=round(diagnosis.confidence * 100),
                strength=self.say(f"strength.{diagnosis.strength.value}"),
            )
            yield self._fact("confidence", text)

    def _fact(self, name: str, text: str) -> LabelledText:
        return LabelledText(label=self.say(f"label.{name}"), text=text)

    def _culprits(self, diagnosis: Diagnosis) -> str:
        hosts = ", ".join(sorted(diagnosis.culprit_hosts))
        if not diagnosis.culprits:
            return self.say("fact.culprit_hosts", hosts=hosts)
        key = "fact.culprit_on_hosts" if hosts else "fact.culprit"
        return self.say(key, ranks=diagnosis.culprits, hosts=hosts)

    def _call(self, call: Call) -> str:
        shown = ShownCall.of(call)
        values = {
            "op": call.ops or None,
            "seq": shown.seq,
            "group": shown.group,
            "numel": shown.numel_in,
            "elapsed": shown.elapsed_ms,
            "timeout": shown.timeout_ms,
        }
        keys = ["fact.call" if shown.seq is None else "fact.call_seq"]
        if shown.group is not None:
            keys.append("fact.call_group")
        if shown.numel_in is not None and len(call.ops) == 1:
            keys.append("fact.call_numel")
        if shown.timeout_ms is not None:
            known = shown.elapsed_ms is not None
            keys.append("fact.call_gave_up" if known else "fact.call_limit")
        texts = (write(Message(key=key, values=values), self._language) for key in keys)
        return one_line("".join(texts))

    def _contents(self, diagnosis: Diagnosis) -> str:
        """What the call carries; of several forms each with the ranks that issued it so."""
        forms = []
        for contents in diagnosis.contents:
            told = tell_contents(contents, diagnosis.coverage.world_size)
            text = self._mark("comma").join(one_line(write(m, self._language)) for m in told)
            if text and contents.ranks and len(diagnosis.contents) > 1:
                text = self.say("fact.contents_of", ranks=contents.ranks, what=text)
            forms += [text] if text else []
        return self._mark("semicolon").join(forms)

    def _story(self) -> tuple[EventStep, ...]:
        steps = [
            EventStep(
                at=one_line(item.at or "")[:_LONGEST_TIME],
                who=self.say("fact.waiting", ranks=item.ranks) if item.ranks else "",
                what=self.sentence(item.what),
                place=self._lines.place(item.evidence),
            )
            for item in self._diagnosis.story
        ]
        most = self._limits.story
        if len(steps) <= most:
            return tuple(steps)
        left_out = self.say("label.more_steps", count=len(steps) - most + 1)
        gap = EventStep(at="", who="", what=left_out, place="")
        first = most // 2
        return (*steps[:first], gap, *steps[len(steps) - (most - first - 1) :])

    def _standings(self) -> Iterable[LabelledText]:
        standings, most = self._diagnosis.standings, self._limits.standings
        for standing in standings[:most]:
            who, where = shown_standing(standing)
            yield LabelledText(label=self.sentence(who), text=self._placed(where))
        if len(standings) > most:
            text = self.say("label.more_standings", count=len(standings) - most)
            yield LabelledText(label="", text=text)

    def _sources(self) -> Iterable[LabelledText]:
        """Which source says what; with one kind of source there is nothing to compare."""
        heard = self._diagnosis.statements
        if len({statement.source for statement in heard}) < 2:
            return
        for statement in heard[: self._limits.sources]:
            source = self.say(f"source.{statement.source.value}")
            label = self.say(f"bearing.{statement.bearing.value}", source=source)
            against = self.optional(statement.against)
            claim = self.sentence(statement.claim)
            text = self.say("source.against", claim=claim, against=against) if against else claim
            yield LabelledText(label=label, text=text)

    def _likely(self) -> Iterable[LabelledText]:
        """The cause that is likely where none is shown, with what speaks for and against it."""
        likely = self._diagnosis.likely
        if likely is None:
            return
        values = {
            "cause": likely.cause.value,
            "percent": round(likely.chance * 100),
            "meaning": self.say(f"cause.{likely.cause.value}"),
            "ranks": likely.culprits,
        }
        key = "likely.cause_ranks" if likely.culprits else "likely.cause"
        yield self._fact("likely_cause", self.say(key, **values))
        yield self._fact("for_it", self._signs(likely.signs[:_MOST_SIGNS]))
        against = self._signs(likely.against[:_MOST_AGAINST])
        yield self._fact("against_it", against or self.say("likely.unproved"))
        rivals = [
            self.say("likely.rival", cause=r.cause.value, percent=round(r.chance * 100))
            for r in likely.rivals
        ]
        if rivals:
            yield self._fact("rivals", self._mark("comma").join(rivals))
        yield self._fact("decides", self.sentence(likely.decides.what))

    def _signs(self, signs: Iterable[CountedSign]) -> str:
        return one_line(self._mark("semicolon").join(shown_sign(s, self._language) for s in signs))

    def _placed(self, where: Message) -> str:
        """What a class of ranks does, and where; the doing and its phase are sentences too."""
        values = dict(where.values)
        doing = values["doing"]
        assert isinstance(doing, Message)
        told = dict(doing.values)
        if isinstance(told.get("phase"), str):
            told["phase"] = self.say(f"phase.{told['phase']}")
        values["doing"] = self.say(doing.key, **told)
        return self.say(where.key, **values)

    def _remedies(self) -> Iterable[FixText]:
        for number, fix in enumerate(self._diagnosis.fixes[: self._limits.fixes]):
            yield self._remedy(fix, whole=number < self._limits.patches)

    def _remedy(self, fix: Fix, *, whole: bool) -> FixText:
        most = self._limits.patch_lines
        patch = block(translated_patch(fix.patch, self._language))
        notes = [
            self._fact("reaches", one_line(shown_reach(fix.reaches, self._language))),
            self._fact("risk", self.sentence(fix.risk)),
            self._fact("verify", self.sentence(fix.verify)),
        ]
        shown = patch if len(patch) <= most else (*patch[: most - 1], "…")
        kind = self.say(f"kind.{fix.kind.value}")
        where = one_line(", ".join(part for part in (fix.framework, fix.where) if part))
        return FixText(
            title=self.sentence(fix.title),
            aside=self._mark("semicolon").join(part for part in (kind, where) if part),
            patch=shown if whole else (),
            notes=tuple(note for note in notes if note.text) if whole else (),
        )

    def _mark(self, name: str) -> str:
        """What stands between the parts of a list."""
        return write(Message(key=f"unit.{name}"), self._language)

    def _more_fixes(self) -> str:
        more = len(self._diagnosis.fixes) > self._limits.patches
        return self.say("fixes.more") if more and self._limits.patches == 1 else ""

    def _errand(self, collect: Collect) -> NextEvidenceText:
        return NextEvidenceText(
            what=self.sentence(collect.what),
            how=self.sentence(collect.how),
            decides=self.sentence(collect.decides),
        )

    def _others(self, leading: Candidate | None) -> Iterable[LabelledText]:
        likely = self._diagnosis.likely
        told = None if likely is None else likely.cause
        others = [c for c in self._diagnosis.candidates if c is not leading and c.cause is not told]
        for candidate in others[: self._limits.others]:
            percent = round(candidate.confidence * 100)
            label = f"{candidate.cause.value} ({percent} %)"
            yield LabelledText(label=label, text=self.sentence(candidate.claim))

    def _unseen(self) -> Iterable[str]:
        diagnosis = self._diagnosis
        if diagnosis.outcome is Outcome.HEALTHY:
            return
        coverage = diagnosis.coverage
        silent = coverage.ranks_silent - frozenset().union(*(s.ranks for s in diagnosis.standings))
        blamed = diagnosis.culprits if diagnosis.outcome is Outcome.CAUSE else NO_RANKS
        for key, ranks in (
            ("unseen.silent", silent - blamed),
            ("unseen.silent_culprit", silent & blamed),
        ):
            if ranks:
                yield self.say(key, ranks=ranks)
        if coverage.lines_dropped:
            yield self.say("unseen.dropped", count=coverage.lines_dropped)
        lacked = {fact for facts in diagnosis.missing_facts.values() for fact in facts}
        names = [self.say(f"record.{f.name.lower()}") for f in _RECORDS if f.value in lacked]
        if names and diagnosis.outcome is not Outcome.CAUSE:
            yield self.say("unseen.facts", facts=self._mark("comma").join(names))

    def _problems(self) -> Iterable[str]:
        problems = self._diagnosis.problems
        most = self._limits.problems
        for problem in problems[:most]:
            name = problem.artifact or problem.component
            message = one_line(translated(problem.message, self._language))
            yield message if name in message else one_line(name) + self._mark("colon") + message
        if len(problems) > most:
            yield self.say("label.more", count=len(problems) - most)

    def _earlier(self) -> Iterable[str]:
        earlier = self._diagnosis.earlier
        shown = earlier[-self._limits.earlier :]
        if len(shown) < len(earlier):
            yield self.say("label.more", count=len(earlier) - len(shown))
        for verdict in shown:
            number = verdict.incarnation + 1
            name = verdict.outcome.value if verdict.cause is None else verdict.cause.value
            summary = self.sentence(verdict.summary)
            yield self.say("earlier.start", number=number, verdict=name, summary=summary)

    def _footer(self, rule: str | None) -> Iterable[str]:
        stats = self._diagnosis.stats
        if self._lines.folder:
            yield self.say("footer.folder", folder=self._lines.folder)
        if stats.files:
            key = "footer.read_one" if stats.files == 1 else "footer.read"
            yield self.say(key, files=stats.files, size=stats.size_bytes, seconds=stats.seconds)
        if self._diagnosis.redacted:
            told = ", ".join(f"{n} × {kind}" for kind, n in self._diagnosis.redacted.items())
            yield self.say("footer.redacted", kinds=told)
        if rule is not None:
            yield self.say("footer.explain", code=rule)


def quoted_lines(diagnosis: Diagnosis) -> tuple[Provenance, ...]:
    """The lines that a report quotes as evidence of the verdict."""
    basis = _leading(diagnosis) or diagnosis.located
    return () if basis is None else tuple(basis.evidence)


def _leading(diagnosis: Diagnosis) -> Candidate | None:
    """The candidate that the verdict is about, if the outcome is a cause."""
    if diagnosis.outcome is not Outcome.CAUSE or not diagnosis.candidates:
        return None
    same = (c for c in diagnosis.candidates if c.cause is diagnosis.cause)
    return next(same, diagnosis.candidates[0])


def _rule_of(basis: Candidate | Finding | None) -> str | None:
    """The rule to read about first."""
    match basis:
        case Candidate():
            return next(iter(basis.rules), None)
        case Finding():
            return basis.rule
        case None:
            return None
