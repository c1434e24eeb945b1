"""From a word to its manual page: a rule, a cause, a setting, or an error line.

Rules are documented by their module's docstring, causes by the rules that claim them, settings by
the table of settings. A text that names none of these is read as the lines of a log.
"""

from __future__ import annotations

import difflib
import io
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from enum import Enum

from unhang import lazy_re as re
from unhang import settings
from unhang.architectures import Architecture, decode, group_size, tell_contents
from unhang.assemble import assemble
from unhang.engine.gather import read_artifact
from unhang.errors import UsageError
from unhang.model.causes import Cause
from unhang.model.contents import Contents
from unhang.model.events import CollectiveTimeout, Event, Fingerprint, GroupRef, UnreadLine
from unhang.model.explanation import Explanation, RuleCard, Section, Topic
from unhang.model.finding import Finding
from unhang.model.provenance import Message, say
from unhang.model.rule import Rule
from unhang.rules import RULES
from unhang.sources.artifact import Artifact
from unhang.verdict.rule_results import judge

_SHAPES = frozenset({"source", "origin", "at"})
"""Fields that every event has: they say where it stood, not what it says."""
_SIZES = re.compile(r"[1-9][\d,_]{3,20}(?:\s+[1-9][\d,_]{0,20})?", re.ASCII)
_SECTIONS = {
    "What it finds": "finds",
    "Why it hangs": "why",
    "When it stays quiet": "quiet",
    "How to confirm": "confirm",
    "What to do": "do",
    "References": "references",
}
"""The sections of a rule's manual page, and how translations call them."""
_SIZES_TELL = say("manual.sizes", "What its sizes tell")


def card(rule: Rule) -> RuleCard:
    """Return the row of a rule in the list of rules."""
    summary, _ = _split(_docstring(rule))
    return RuleCard(
        code=rule.code,
        name=rule.name,
        cause=rule.cause,
        status=rule.status,
        since=rule.since,
        summary=summary,
        needs=rule.needs,
    )


def explain(word: str, models: Sequence[Architecture] = ()) -> Explanation:
    """Return the manual page of a word.

    Args:
        word: code or name of a rule, a cause, a setting, lines of a log, or one or two numbers of
            elements, as `NumelIn` and `NumelOut` have them.
        models: of which sizes are explained; none = all that are known by name.

    Raises:
        UsageError: the word is none of these; the message names what is close to it.
    """
    asked = word.strip()
    rule = next((r for r in RULES if asked.upper() == r.code or asked.lower() == r.name), None)
    if rule is not None:
        return _of_rule(rule)
    cause = next((c for c in Cause if asked.lower().replace("-", "_") == c.value), None)
    if cause is not None:
        return _of_cause(cause)
    words = asked.split()
    flagged = 1 < len(words) < 4 and words[-1].startswith("--")  # `diagnose.py --check-nccl`
    page = settings.page(asked) if len(words) == 1 or flagged else None
    if page is not None and (page.source or page.reader is not None):
        return _of_setting(page)
    sizes = _sizes(asked)
    if sizes is not None:
        return _of_sizes(sizes, models)
    events = _read(asked)
    if events:
        return _of_line(events, models)
    raise UsageError(_unknown(asked, () if page is None else page.similar))


def _of_rule(rule: Rule) -> Explanation:
    summary, parts = _split(_docstring(rule))
    sections = [
        Section(title=Message(key=f"manual.{name}"), body=(_page_text(rule.code, name, body),))
        for title, body in parts
        if body and (name := _SECTIONS[title])
    ]
    needed = sorted(rule.needs, key=lambda fact: fact.value)
    facts = tuple(fact.name.lower() for fact in needed)
    cause = "" if rule.cause is None else rule.cause.value
    about = Message(
        key="manual.rule_with_cause" if cause else "manual.rule",
        values={"cause": cause, "facts": facts, "since": rule.since, "status": rule.status.value},
    )
    return Explanation(
        topic=Topic.RULE,
        name=f"{rule.code} {rule.name}",
        summary=_page_text(rule.code, "summary", summary),
        sections=(*sections, Section(title=Message(key="manual.about"), body=(about,))),
    )


def _of_cause(cause: Cause) -> Explanation:
    rules = tuple(_row(c) for c in map(card, RULES) if c.cause is cause)
    sections = [Section(title=Message(key="manual.claimed_by"), body=rules)] if rules else []
    return Explanation(
        topic=Topic.CAUSE,
        name=cause.value,
        summary=Message(key=f"cause.{cause.value}"),
        sections=tuple(sections),
    )


def _of_setting(page: settings.Page) -> Explanation:
    """The verdict on the advice to set it leads; then what is known, how frameworks write it."""
    about = Message(key="manual.about_setting")
    if page.about is not None:
        about = _page_text(page.name, "about", page.about)
    leads = page.verdict is None or page.about is None
    facts = tuple(_facts(page)) if leads else (about, *_facts(page))
    sections = [Section(title=Message(key="manual.known"), body=facts)]
    if page.timeout_knobs:
        knobs = tuple(_knob(knob) for knob in page.timeout_knobs)
        sections.append(Section(title=Message(key="manual.knobs"), body=knobs))
    if page.source:
        sources = tuple(_text(source) for source in page.source)
        sections.append(Section(title=Message(key="manual.sources"), body=sources))
    return Explanation(
        topic=Topic.SETTING,
        name=page.name,
        summary=about if page.verdict is None else page.verdict,
        sections=tuple(sections),
    )


def _facts(page: settings.Page) -> Iterator[Message]:
    if page.reader is None:
        yield Message(key="manual.read_by_nobody")
    else:
        yield Message(key="manual.read_by", values={"reader": page.reader})
    for name in ("since", "last", "ignored_since", "default", "values", "use"):
        value = getattr(page, name)
        if value is not None:
            yield Message(key=f"manual.setting_{name}", values={"value": value})
    if page.risk is not None:
        yield _page_text(page.name, "risk", page.risk, "Risk: {text}.")
    if page.note is not None:
        yield _page_text(page.name, "note", page.note, "Note: {text}.")
    if page.similar:
        yield Message(key="manual.setting_similar", values={"value": ", ".join(page.similar)})


def _knob(knob: settings.TimeoutKnob) -> Message:
    return Message(
        key=f"manual.knob_{knob.status.value}",
        values={
            "framework": knob.framework,
            "key": knob.key,
            "where": knob.where,
            "default": knob.default_s,
        },
    )


def _sizes(text: str) -> Contents | None:
    """One or two numbers of elements: of one tensor, or of an input and an output."""
    if _SIZES.fullmatch(text) is None:
        return None
    numbers = [int(number.replace(",", "").replace("_", "")) for number in text.split()]
    numel_in, numel_out = numbers[0], numbers[-1]
    op = "ALLGATHER" if numel_in < numel_out else "REDUCE_SCATTER"
    return Contents(op=op, numel_in=numel_in, numel_out=numel_out)


def _read_sizes(contents: Contents, models: Sequence[Architecture]) -> Contents:
    sizes = (contents.op, contents.numel_in, contents.numel_out)
    return replace(contents, group_size=group_size(*sizes), readings=decode(*sizes, models))


def _of_sizes(contents: Contents, models: Sequence[Architecture]) -> Explanation:
    """Of numbers alone: which tensors they are."""
    told = tuple(tell_contents(_read_sizes(contents, models)))
    nothing = say(
        "manual.sizes_unknown",
        "No tensor of a known model has this size, or too many have it; name yours with --model.",
    )
    return Explanation(
        topic=Topic.LINE,
        name=" -> ".join(f"{n:,}" for n in dict.fromkeys((contents.numel_in, contents.numel_out))),
        summary=told[0] if told else nothing,
        sections=(Section(title=_SIZES_TELL, body=told),) if len(told) > 1 else (),
    )


def _sizes_of(events: tuple[Event, ...], models: Sequence[Architecture]) -> Iterator[Message]:
    """What the sizes of the time-outs among some lines tell."""
    for event in events:
        if isinstance(event, CollectiveTimeout) and event.op is not None:
            contents = Contents(op=event.op, numel_in=event.numel_in, numel_out=event.numel_out)
            yield from tell_contents(_read_sizes(contents, models))


def _of_line(events: tuple[Event, ...], models: Sequence[Architecture]) -> Explanation:
    """What the parsers read in it, what that means, and the rules that would speak."""
    kinds = tuple(dict.fromkeys(type(event).__name__ for event in events))
    says = tuple(Message(key=f"event.{type(e).__name__}", values=_values(e)) for e in events)
    means = tuple(Message(key=f"means.{kind}") for kind in kinds)
    sections = [
        Section(title=Message(key="manual.says"), body=tuple(_unique(says))),
        Section(title=Message(key="manual.means"), body=means),
    ]
    carried = tuple(_unique(tuple(_sizes_of(events, models))))
    if carried:
        sections.append(Section(title=_SIZES_TELL, body=carried))
    codes = {finding.rule for finding in _findings(events)}
    rules = tuple(_row(c) for c in map(card, RULES) if c.code in codes)
    if rules:
        sections.append(Section(title=Message(key="manual.speaking"), body=rules))
    return Explanation(
        topic=Topic.LINE,
        name=", ".join(kinds),
        summary=Message(key="manual.line"),
        sections=tuple(sections),
    )


def _findings(events: tuple[Event, ...]) -> Iterator[Finding]:
    for incident in assemble(events, artifacts=1):
        yield from judge(incident).findings


def _read(text: str) -> tuple[Event, ...]:
    """The events of some lines of a log."""
    data = text.encode("utf-8", errors="replace") + b"\n"
    artifact = Artifact(name="text", open=lambda: io.BytesIO(data), size_bytes=len(data))
    events, _ = read_artifact(artifact)
    return tuple(e for e in events if not (isinstance(e, UnreadLine) and e.read))


def _values(event: Event) -> dict[str, object]:
    """What an event says, by field, as values of a sentence."""
    names = (field.name for field in fields(event) if field.name not in _SHAPES)
    return {name: _plain(getattr(event, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, GroupRef):
        return value.description if value.description is not None else value.guid
    if isinstance(value, Fingerprint):
        return value.op
    return None if value == "" else value


def _unique(messages: tuple[Message, ...]) -> Iterator[Message]:
    """Each message once: logs repeat themselves."""
    seen: list[Message] = []
    for message in messages:
        if message not in seen:
            seen.append(message)
            yield message


def _docstring(rule: Rule) -> str:
    return sys.modules[rule.check.__module__].__doc__ or rule.name


def _split(docstring: str) -> tuple[str, list[tuple[str, str]]]:
    """The first paragraph, and the titled sections after it."""
    first, *rest = docstring.strip().split("\n## ")
    parts = [part.partition("\n") for part in rest]
    return " ".join(first.split()), [(title.strip(), body.strip()) for title, _, body in parts]


def _page_text(code: str, name: str, text: str, english: str = "{text:phrase}") -> Message:
    """A part of a manual page; a translation has the whole sentence under the same key."""
    return Message(key=f"manuals.{code}.{name}", values={"text": text}, english=english)


def _row(card: RuleCard) -> Message:
    """A line that names a rule and says what it finds."""
    return Message(
        key=f"manuals.{card.code}.row",
        values={"code": card.code, "text": card.summary},
        english="{code}  {text}",
    )


def _text(text: str) -> Message:
    return Message(key="manual.text", values={"text": text})


def _unknown(word: str, settings_meant: tuple[str, ...]) -> str:
    known = [*(r.code for r in RULES), *(r.name for r in RULES), *(c.value for c in Cause)]
    close = difflib.get_close_matches(word.lower(), [k.lower() for k in known], n=3, cutoff=0.5)
    names = [*settings_meant, *(k for k in known if k.lower() in close)]
    shown = word if len(word) <= 60 else word[:59] + "…"
    meant = f" Did you mean {' or '.join(names)}?" if names else ""
    return (
        f"'{shown}' is not a rule, a cause or a setting, nor a line that unhang knows.{meant}"
        " `unhang rules` lists the rules; a whole log is for `unhang diagnose`."
    )
