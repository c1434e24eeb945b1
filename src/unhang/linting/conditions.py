"""From the settings of one file to those that the others beside them make void or forbid."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.model.lint import LintFinding, SettingPlace, Severity
from unhang.model.provenance import Message
from unhang.settings import frameworks
from unhang.settings.accepted import AcceptedKeys
from unhang.settings.frameworks import Framework, family_of, find_knob
from unhang.settings.knobs import Knob, KnobCondition

_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_CLOSE = 0.8
_NEAR = 0.9
"""Where a file may hold keys of people's own."""

_OF_ZERO = frozenset({"offload", "stage3", "overlap", "contiguous", "reduce", "allgather"})
"""How keys of a section begin that no outermost key is called like."""

_OWN = 3
"""Keys of a framework that show that a file is the framework's."""


def conditions(
    document: SettingsDocument, framework: str | None, version: str | None
) -> Iterator[LintFinding]:
    """Find what is refused or read by nobody beside other settings of the same file."""
    yield from _unaccepted(document, framework, version)
    yield from _misnamed(document)
    if document.dotted:
        yield from _product(document)
    if framework is not None:
        yield from _beside(document, framework)


def _beside(document: SettingsDocument, framework: str) -> Iterator[LintFinding]:
    """Only settings that stand there once: several commands are several jobs."""
    options = [w for w in document.settings if w.kind is SettingKind.OPTION]
    names = Counter(_plain(w) for w in options)
    held = {_plain(w): w.value for w in options if names[_plain(w)] == 1 and w.value is not None}
    if document.dotted:
        held = document.dotted
        options = [replace(_written(document, key), name=key, value=held[key]) for key in held]
    told: set[frozenset[str]] = set()
    for written in options:
        name = _plain(written)
        knob = find_knob(framework, name)
        if knob is None or name not in held:
            continue
        for topic, severity, condition in _broken(knob, held[name], held):
            pair = frozenset({name, condition.key})
            if pair not in told:
                told.add(pair)
                yield finding(
                    written, topic, severity, other=condition.key, beside=held.get(condition.key)
                )


def _broken(
    knob: Knob, value: str, held: Mapping[str, str]
) -> Iterator[tuple[str, Severity, KnobCondition]]:
    for condition in knob.excludes:
        if (
            condition.refused
            and condition.concerns(value)
            and condition.met(held.get(condition.key))
        ):
            topic = "value_refused" if condition.key == knob.key else "key_refused"
            yield topic, Severity.ERROR, condition
        if condition.multiple_of and condition.met(held.get(condition.key)):
            step = held.get(condition.multiple_of, "")
            if value.isdigit() and step.isdigit() and int(step) and int(value) % int(step):
                yield "key_multiple", Severity.ERROR, replace(condition, key=condition.multiple_of)
    for condition in knob.ignored_under:
        if condition.values and condition.met(held.get(condition.key)):
            yield "key_ignored", Severity.WARNING, condition
    needs = [c for c in knob.needs if c.refused and c.concerns(value)]
    if needs and not any(c.met(held.get(c.key)) for c in needs):
        yield "key_needs", Severity.WARNING, needs[0]


def _unaccepted(
    document: SettingsDocument, framework: str | None, version: str | None
) -> Iterator[LintFinding]:
    """Keys that a framework's file does not take, of which a part is clearly its own."""
    options = [w for w in document.settings if w.kind is SettingKind.OPTION]
    if not document.dotted and any(w.name.startswith("-") for w in options):
        yield from _misspelled(options, framework, version)
        return
    names = dict.fromkeys(document.dotted or [_plain(w) for w in options])
    family = [part for f in family_of(framework) for part in f.accepts]
    for owner in frameworks().values():
        own = any(tag.startswith(f"{owner.name}-") for tag in document.programs)
        if not own and owner not in family_of(framework):
            continue
        release = version if owner.name == framework else None
        found = [
            (part, key)
            for part in owner.accepts
            if not part.flags
            for key in dict.fromkeys(filter(None, (_below(n, part.under) for n in names)))
            if part.unless.isdisjoint(names)
        ]
        if own or sum(any(_below(n, p.under) in p.releases for p in family) for n in names) >= _OWN:
            for part, key in found:
                yield from _unaccepted_key(document, owner, part, key, (framework, release))


def _misnamed(document: SettingsDocument) -> Iterator[LintFinding]:
    """Outermost keys that belong to another program, or below another key: nobody reads them."""
    options = [w for w in document.settings if w.kind is SettingKind.OPTION]
    names = dict.fromkeys(document.dotted or [_plain(w) for w in options])
    outermost = dict.fromkeys(name.partition(".")[0] for name in names)
    for owner in frameworks().values():
        if not any(tag.startswith(f"{owner.name}-") for tag in document.programs):
            continue
        sections = {k: p.under for p in owner.accepts if p.strict and p.under for k in p.releases}
        for name in outermost:
            use = owner.misnamed.get(name)
            if use is None and name in sections and name.partition("_")[0] in _OF_ZERO:
                use = f"{sections[name]}.{name}"
            if use is not None:
                yield finding(
                    _written(document, name),
                    "key_near" if use else "key_unread",
                    Severity.WARNING,
                    code="CFG102",
                    replacement=use or None,
                    framework=owner.name,
                    section="its file",
                    use=use,
                )


def _unaccepted_key(
    document: SettingsDocument,
    owner: Framework,
    part: AcceptedKeys,
    key: str,
    releases: tuple[str | None, str | None],
) -> Iterator[LintFinding]:
    """Judge one key: refused, of another release, or close to one that is taken."""
    framework, version = releases
    others = [p for f in family_of(framework) for p in f.accepts if f is not owner]
    knob = find_knob(owner.name, f"{part.under}.{key}" if part.under else key)
    takes = part.takes(key, version)
    unread = takes is None and part.takes(key, None) is False
    if (takes is not False and not unread) or any(key in p.releases for p in others):
        return
    if knob is not None and (knob.last is not None or knob.since is not None):
        return  # The row of the knob itself knows more.
    taken = [k for k in part.releases if part.takes(k, version)]
    near = difflib.get_close_matches(key, taken, n=1, cutoff=_CLOSE if part.strict else _NEAR)
    had = part.releases.get(key, ())
    if not (part.strict or near or had or part.ignores):
        return
    topic, severity = "key_unknown", Severity.ERROR
    if unread:
        # It went between two releases that were read, and the one at hand is neither.
        topic, severity = "key_went", Severity.INFO
    elif version is None and had:
        topic, severity = "key_guessed", Severity.INFO
    elif had:
        topic, severity = "key_lacking", Severity.ERROR if part.strict else Severity.WARNING
    elif not part.strict:
        topic, severity = "key_near" if near else "key_unread", Severity.WARNING
    yield finding(
        _written(document, key),
        topic,
        severity,
        code="CFG103" if had else "CFG102",
        replacement=near[0] if near else None,
        section=part.under or "its file",
        framework=owner.name,
        release=version or part.read[-1],
        newest=part.read[-1],
        had=", ".join(had),
        use=near[0] if near else None,
    )


def _misspelled(
    options: list[Written], framework: str | None, version: str | None
) -> Iterator[LintFinding]:
    """Flags of a script close to one of the program: the others may be those of a launcher."""
    for owner in family_of(framework) if framework is not None else ():
        for part in (part for part in owner.accepts if part.flags):
            release = version if owner.name == framework else None
            taken = {key.replace("-", "_"): key for key in part.releases}
            for written in options:
                name = _plain(written)
                # argparse takes an abbreviation for the whole.
                if not written.name.startswith("--") or any(k.startswith(name) for k in taken):
                    continue
                near = difflib.get_close_matches(name, taken, n=1, cutoff=_NEAR)
                if near and part.takes(taken[near[0]], release) is not False:
                    yield finding(
                        written,
                        "key_near",
                        Severity.ERROR,
                        code="CFG102",
                        replacement=f"--{taken[near[0]]}",
                        framework=owner.name,
                        use=f"--{taken[near[0]]}",
                    )


def _below(name: str, under: str) -> str:
    """The key right below another one; empty where a name is not below it."""
    rest = name.removeprefix(f"{under}.") if under else name
    return "" if under and rest == name else rest.partition(".")[0].replace("-", "_")


def _product(document: SettingsDocument) -> Iterator[LintFinding]:
    """A batch that is no multiple of its parts fits no number of ranks."""
    numbers = [document.dotted.get(key, "") for key in _BATCH]
    if not all(number.isdigit() and int(number) for number in numbers):
        return
    total, micro, steps = map(int, numbers)
    if total % (micro * steps):
        yield finding(
            _written(document, _BATCH[0]), "batch_product", Severity.ERROR, part=micro * steps
        )


def world_product(document: SettingsDocument, ranks: int | None) -> Iterator[LintFinding]:
    """The batch of a configuration against the ranks of the launch that names it."""
    numbers = [document.dotted.get(key, "") for key in _BATCH]
    if ranks is None or not all(number.isdigit() and int(number) for number in numbers):
        return
    total, micro, steps = map(int, numbers)
    if total % (micro * steps) == 0 and total != micro * steps * ranks:
        yield finding(
            _written(document, _BATCH[0]),
            "batch_world",
            Severity.ERROR,
            part=micro * steps * ranks,
            micro=micro,
            steps=steps,
            ranks=ranks,
        )


def _written(document: SettingsDocument, key: str) -> Written:
    found = (w for w in document.settings if w.name.rpartition(".")[2] == key)
    place = SettingPlace(artifact=document.name)
    missing = Written(name=key, value=None, place=place, kind=SettingKind.OPTION)
    return next(found, missing)


def _plain(written: Written) -> str:
    return written.name.lstrip("+-").replace("-", "_")


def finding(
    written: Written,
    topic: str,
    severity: Severity,
    *,
    code: str = "CFG119",
    replacement: str | None = None,
    **values: object,
) -> LintFinding:
    """A finding at a setting, with its sentence by topic (`advice.TOPIC`)."""
    return LintFinding(
        code=code,
        severity=severity,
        setting=written.name,
        value=written.value,
        where=written.place,
        reason=Message(
            key=f"advice.{topic}",
            values={"name": written.name.lstrip("+-"), "value": written.value, **values},
        ),
        replacement=replacement,
    )
