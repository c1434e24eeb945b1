"""From the settings of one file to those that the others beside them make void or forbid."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping

from unhang.linting.document import SettingKind, SettingsDocument, Written
from unhang.model.lint import LintFinding, SettingPlace, Severity
from unhang.model.provenance import Message
from unhang.settings import frameworks
from unhang.settings.frameworks import find_knob
from unhang.settings.knobs import Knob, KnobCondition

_BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_CLOSE = 0.8


def conditions(document: SettingsDocument, framework: str | None) -> Iterator[LintFinding]:
    """Find what is refused or read by nobody beside other settings of the same file."""
    if document.dotted:
        yield from _closed(document)
        yield from _product(document)
    elif framework is not None:
        yield from _beside(document, framework)


def _beside(document: SettingsDocument, framework: str) -> Iterator[LintFinding]:
    """Only settings that stand there once: several commands are several jobs."""
    options = [w for w in document.settings if w.kind is SettingKind.OPTION]
    names = Counter(_plain(w) for w in options)
    held = {_plain(w): w.value for w in options if names[_plain(w)] == 1 and w.value is not None}
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
                yield _finding(
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
            yield "key_refused", Severity.ERROR, condition
    for condition in knob.ignored_under:
        if condition.values and condition.met(held.get(condition.key)):
            yield "key_ignored", Severity.WARNING, condition
    needs = [c for c in knob.needs if c.refused and c.concerns(value)]
    if needs and not any(c.met(held.get(c.key)) for c in needs):
        yield "key_needs", Severity.WARNING, needs[0]


def _closed(document: SettingsDocument) -> Iterator[LintFinding]:
    """Keys of a section whose framework refuses those that it does not know."""
    for framework in frameworks().values():
        if f"{framework.name}-json" not in document.programs:
            continue
        for section, known in framework.closed.items():
            keys = [k.split(".")[1] for k in document.dotted if k.startswith(f"{section}.")]
            for key in dict.fromkeys(keys):
                if key not in known:
                    near = difflib.get_close_matches(key, known, n=1, cutoff=_CLOSE)
                    yield _finding(
                        _written(document, key),
                        "key_unknown",
                        Severity.ERROR,
                        code="CFG102",
                        replacement=near[0] if near else None,
                        section=section,
                        framework=framework.name,
                    )


def _product(document: SettingsDocument) -> Iterator[LintFinding]:
    """A batch that is no multiple of its parts fits no number of ranks."""
    numbers = [document.dotted.get(key, "") for key in _BATCH]
    if not all(number.isdigit() and int(number) for number in numbers):
        return
    total, micro, steps = map(int, numbers)
    if total % (micro * steps):
        yield _finding(
            _written(document, _BATCH[0]), "batch_product", Severity.ERROR, part=micro * steps
        )


def world_product(document: SettingsDocument, ranks: int | None) -> Iterator[LintFinding]:
    """The batch of a configuration against the ranks of the launch that names it."""
    numbers = [document.dotted.get(key, "") for key in _BATCH]
    if ranks is None or not all(number.isdigit() and int(number) for number in numbers):
        return
    total, micro, steps = map(int, numbers)
    if total % (micro * steps) == 0 and total != micro * steps * ranks:
        yield _finding(
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


def _finding(
    written: Written,
    topic: str,
    severity: Severity,
    *,
    code: str = "CFG119",
    replacement: str | None = None,
    **values: object,
) -> LintFinding:
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
