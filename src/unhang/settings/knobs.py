"""A framework's knob by release, and how a cure changes it from the value in force.

A cure does not know the user's numbers. It says in which direction a knob must go; the new value
is computed from the one in force, which is the user's or else the release's default, and where it
would go nowhere there is no such cure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unhang import lazy_re as re
from unhang.settings.versions import at_least, covers, parse_version

OFF = frozenset({"-1", "0", "none", "null", "", "never"})
"""Values of a number that mean "never" or "all": no factor makes more or less of them."""

_RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobCondition:
    """Another setting on which a knob depends.

    Attributes:
        values: the values meant, in lower case; none = whatever it is set to.
        at: values of the knob itself at which the other one matters; none = any.
        multiple_of: beside it, the knob must be a multiple of this one.
        refused: the release stops at the start of the job.
        why: what happens, in a sentence's end.
    """

    key: str
    values: frozenset[str] = frozenset()
    at: frozenset[str] = frozenset()
    multiple_of: str = ""
    refused: bool = False
    why: str = ""

    def concerns(self, value: Any) -> bool:  # noqa: ANN401  a value of any type
        """Whether the knob at that value depends on the other setting; None = at any value."""
        return value is None or not self.at or any(same(as_text(value), own) for own in self.at)

    def met(self, value: str | None) -> bool:
        """Whether a value in force is one of those meant."""
        if value is None or (not self.values and value.lower() in ("null", "none", "")):
            return False
        return not self.values or value.lower() in {v.lower() for v in self.values}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobRelease:
    """A knob as one release declares it.

    Attributes:
        found: the release has it.
        default: as data; an expression is text.
        place: file and line within the package.
    """

    release: str
    found: bool
    default: Any = None
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A setting of a framework that matters to hangs, other than its timeout.

    Attributes:
        type: as the package writes it.
        choices: the values that it takes, where they are listed.
        smaller: what a smaller value brings, for numbers.
        unit: what is counted.
        since, last: releases that have it, where that is known better than by `releases`.
        spelled: other names that its releases take for it.
        renamed_to: the key that took its place.
        needs: it has no effect, or harms, unless one of these is in force.
        excludes: refused or harmful beside these.
        ignored_under: read by nobody beside these.
        releases: as read from the released packages, the newest first.
        why: where a row is not read from a package: how it is known.
    """

    framework: str
    key: str
    about: str = ""
    type: str = ""
    choices: tuple[Any, ...] = ()
    smaller: str = ""
    unit: str = ""
    since: str | None = None
    last: str | None = None
    spelled: tuple[str, ...] = ()
    renamed_to: str | None = None
    needs: tuple[KnobCondition, ...] = ()
    excludes: tuple[KnobCondition, ...] = ()
    ignored_under: tuple[KnobCondition, ...] = ()
    releases: tuple[KnobRelease, ...] = ()
    why: str = ""

    @property
    def source(self) -> str:
        """Where it is read from, or how else it is known."""
        newest = next((r for r in self.releases if r.found), None)
        return self.why if newest is None else f"{self.framework} {newest.release} {newest.place}"

    @property
    def default(self) -> str | None:
        """The default of the newest release that has it, as text."""
        newest = next((r for r in self.releases if r.found), None)
        return None if newest is None or newest.default is None else as_text(newest.default)

    def default_in(self, version: str | None) -> Any:  # noqa: ANN401  a value of any type
        """The default of a release; of the newest where the release is unknown."""
        found = self._nearest(version)
        return None if found is None else found.default

    def known_in(self, version: str | None) -> bool | None:
        """Whether a release has it; None where neither the release nor the packages tell."""
        by_hand = covers(version, self.since, self.last)
        found = self._nearest(version)
        if by_hand is False or found is None or version is None:
            return by_hand
        later = self.since is not None and at_least(found.release, self.since) is False
        return True if later else found.found

    def _nearest(self, version: str | None) -> KnobRelease | None:
        """The newest release that is not newer than the one asked for, else the oldest."""
        if version is None or (asked := parse_version(version)) is None:
            return next((r for r in self.releases if r.found), None)
        older = [r for r in self.releases if (parse_version(r.release) or ()) <= asked]
        return older[0] if older else (self.releases[-1] if self.releases else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobChange:
    """What a cure does to one knob.

    Attributes:
        constant: it is set to `to`; else the value in force is multiplied by `times`.
        least, most: bounds of the new value.
        above: knobs whose sum is a lower bound, too; `above_per` says how many GPUs share it.
        shares: a setting that lists files, of which every process of every rank needs one, unless
            `shares_unless` is set.
        per: a setting that lists GPUs: the new value is a multiple of their number.
        divides: the new value divides the one in force: what that divided, this does.
        digits: of a share; None = a whole number.
        keeps: the knob whose product with this one stays the same (effective batch).
        kept_by: a setting that keeps it by itself, where it is set.
        assume: the value in force where neither the user nor the release tells; shown in advice,
            never written over a file that says nothing.
        when_off: the value for a knob that is off.
        unless_set: leave a value of the user's alone.
        optional: left out where the release lacks the knob, or another setting forbids it.
        quiet: written only where it differs, and alone no reason to advise the cure.
        present: advice says it, a file must hold it already.
        shown: an example that only the user can choose: never written.
    """

    key: str
    to: Any = None
    constant: bool = False
    times: float = 1.0
    least: float | None = None
    most: float | None = None
    above: tuple[str, ...] = ()
    above_per: str | None = None
    shares: str | None = None
    shares_unless: str = ""
    per: str | None = None
    divides: bool = False
    digits: int | None = None
    keeps: str | None = None
    kept_by: str | None = None
    assume: Any = None
    when_off: Any = None
    unless_set: bool = False
    optional: bool = False
    quiet: bool = False
    present: bool = False
    shown: bool = False

    @property
    def name(self) -> str:
        """The key without Hydra's marks."""
        return self.key.lstrip("+")


class NoChange(Exception):
    """Why a knob stays as it is."""


def work_out(
    change: KnobChange,
    present: str | None,
    default: Any,  # noqa: ANN401  a value of any type
    held: Callable[[str], str | None],
) -> dict[str, Any]:
    """Work out the new values of one change.

    Args:
        change: what the cure wants.
        present: the value in force that the user has set, as text; None = not set.
        default: the release's default, as data.
        held: the value in force of another knob, as text.

    Returns:
        Values by key: the knob's, and its partner's where their product is kept.

    Raises:
        NoChange: it is so already, it is off, or there is no room in this direction.
    """
    text = present if present is not None else (None if default is None else as_text(default))
    if change.constant:
        if change.unless_set and present is not None:
            return {}
        if same(text, change.to, flag=change.to is None):
            raise NoChange(f"`{change.name}` is already {_shown(text)}")
        return {change.key: change.to}
    if text is None:
        if change.least is None or change.times < 1:
            raise NoChange(f"`{change.name}` is not set here, and its default is unknown")
        text = "0"
    number = _number(text)
    off = text.lower() in OFF
    if off and change.when_off is not None:
        return {change.key: change.when_off}
    if off and (change.least is None or change.times < 1):
        raise NoChange(f"`{change.name}` is {text}: there is nothing to change in this direction")
    if number is None:
        raise NoChange(f"`{change.name}` is {text}: change it where it is set")
    if change.digits is None and _is_share(text, number):
        return {change.key: _share(change, text, number)}
    new = _whole(change, min(_bounded(change, number), _most_shared(change, held)), text, held)
    if new == number or (new > number) != (change.times > 1):
        raise NoChange(f"`{change.name}` is already {_shown(text)}")
    return {change.key: new, **_partner(change, number, new, held)}


def _most_shared(change: KnobChange, held: Callable[[str], str | None]) -> float:
    """How many processes each rank can have so that each finds a file of its own."""
    listed = None if change.shares is None else held(change.shares)
    if listed is None or held(change.shares_unless) is not None:
        return math.inf
    files = 1
    for first, last in _RANGE.findall(listed):
        files *= int(last) - int(first) + 1
    if files == 1:
        return math.inf
    ranks = [held("nproc_per_node"), held("nnodes") or "1"]
    if not all(number and number.isdigit() for number in ranks):
        raise NoChange(f"{files} files are shared by an unknown number of ranks: choose it by hand")
    return files // math.prod(int(number or 1) for number in ranks)


def _whole(change: KnobChange, new: float, text: str, held: Callable[[str], str | None]) -> float:
    """A value that all GPUs share, as a multiple of their number."""
    if change.per is None:
        return new
    count = len(re.findall(r"\d+", held(change.per) or "")) or 1
    if new < count:
        raise NoChange(f"`{change.name}` is {text}, and each of {count} GPUs needs at least one")
    return new - new % count


def _partner(
    change: KnobChange, number: float, new: float, held: Callable[[str], str | None]
) -> dict[str, Any]:
    """The value of the knob whose product with this one stays the same."""
    kept = change.kept_by is not None and held(change.kept_by) is not None
    if change.keeps is None or kept:
        return {}
    partner = held(change.keeps)
    count = _number(partner) if partner is not None else 1.0
    if count is None:
        raise NoChange(f"`{change.keeps}` is {partner}: change both where they are set")
    # Rounded up: the batch of an optimizer step never shrinks.
    return {change.keeps: int(-(-number * max(count, 1) // new))}


def _is_share(text: str, number: float) -> bool:
    """Whether a knob that counts is given as a share of the whole: 0.25, 1.0."""
    return 0 < number < 1 or (number == 1 and "." in text)


def _share(change: KnobChange, text: str, number: float) -> float:
    """A share stays one: 1 would be a count, and mean every step."""
    new = round(number * change.times, 4)
    if not 0 < new < 1:
        raise NoChange(
            f"`{change.name}` is {text}, a share of the whole: there is no room in this direction"
        )
    return new


def _divisor(number: int, most: float, change: KnobChange) -> float:
    """The largest divisor up to a bound; a partner that keeps the product makes good the rest."""
    found = next((n for n in range(int(most), 0, -1) if number % n == 0), 1)
    return most if change.keeps is not None and found * 8 < number else found


def _bounded(change: KnobChange, number: float) -> float:
    new = max(number, 0) * change.times
    if change.divides and new >= 1 and number == int(number):
        new = _divisor(int(number), new, change)
    if change.least is not None:
        new = max(new, change.least)
    if change.most is not None:
        new = min(new, change.most)
    return round(new, change.digits) if change.digits is not None else int(new)


def same(text: str | None, value: Any, *, flag: bool = False) -> bool:  # noqa: ANN401
    """Whether a text means a value: `True` is `true`, `1e3` is 1000, `[a, b]` is the list."""
    if flag:
        return text is not None and text.lower() in ("", "true", "flag")
    if text is None:
        return value is None
    left, right = text.strip().strip("\"'").lower(), as_text(value).lower()
    if left == right:
        return True
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return _items(left) == _items(right)


def as_text(value: Any) -> str:  # noqa: ANN401  a value of any type
    """A value as a configuration writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return value if isinstance(value, str) else json.dumps(value)


def conflicts(
    knob: Knob,
    held: Callable[[str], str | None],
    value: Any = None,  # noqa: ANN401  a value of any type
) -> str | None:
    """Why other settings in force forbid a knob at a value; None where none does."""
    for condition in knob.excludes:
        if condition.concerns(value) and condition.met(held(condition.key)):
            return condition.why
    for condition in knob.ignored_under:
        value = held(condition.key)
        if condition.met(value):
            return f"nobody reads `{knob.key}` while `{condition.key}` is {value}"
    return None


def lacks(knob: Knob, held: Callable[[str], str | None]) -> str | None:
    """What a knob needs and none of the settings in force gives; None where nothing is missing."""
    missing = [c for c in knob.needs if not c.met(held(c.key))]
    return missing[0].why if missing and len(missing) == len(knob.needs) else None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.strip().strip("\"'").replace("_", ""))
    except ValueError:
        return None


def _items(text: str) -> list[str]:
    return sorted(part.strip(" \"'") for part in text.strip("[]").split(","))


def _shown(text: str | None) -> str:
    return "unset" if text is None else text
