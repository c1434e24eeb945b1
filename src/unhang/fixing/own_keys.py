"""Settings of a program of people's own, which no framework's table knows.

`batch_size = 12` in a configuration in Python, `run.loader.batch_size` in a project's YAML, a flag
of a fork: what such a key does is read from its name alone. So it is changed only where the files
hold one key of that kind, the program's own default counts least, and what is shown says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from unhang import lazy_re as re
from unhang.fixing.config_file import Language
from unhang.fixing.editors import yaml as yaml_editor
from unhang.fixing.job import Job, plain
from unhang.fixing.own_settings import ORDER, Said, said_in, spelled, with_value
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Fix
from unhang.model.provenance import Message
from unhang.model.toml import load
from unhang.settings import family_of, timeout_knobs

_OWN = "{} is a key of the job's own program: its name alone says what it does"
_SHARE = re.compile(r"0?\.\d{1,6}")
_PARTS = re.compile(r"[._]")
_LIMIT = "longer_timeout"
_UNITS = {"s": 1, "m": 60, "h": 3_600}
_UNIT = re.compile(r"time_?out_(?:in_)?([smh])")


@dataclass(frozen=True, slots=True)
class _Kind:
    """What keys of one cure are called, and what happens to their values.

    Attributes:
        key: what the last part of a dotted key is called.
        never: what none of its parts is called: such a key is of something else.
        times: by what its value is multiplied.
        least: the smallest value that is written.
        first: which of several keys are meant rather than the others, the most telling first.
        keeps: the last part of the setting whose product with it stays the same.
        to: what it becomes where it is a truth; None = it is a number.
    """

    key: re.Pattern[str]
    never: re.Pattern[str]
    times: float
    least: int
    first: tuple[re.Pattern[str], ...] = ()
    keeps: re.Pattern[str] | None = None
    to: bool | None = None

    def means(self, key: str) -> bool:
        """Whether a dotted key is one of these."""
        parts = _PARTS.split(key.lower())
        # `dist.timeout` is a `dist_timeout`.
        names = (_last(key), "_".join(key.lower().split(".")[-2:]))
        named = any(map(self.key.fullmatch, names))
        return named and not any(map(self.never.fullmatch, parts))


def change_own_key(job: Job, fix: Fix) -> Job | None:
    """The job with a fix in a key of its own; None where it has none of that kind.

    Where the job holds a key by which the framework does the same, that one counts.

    Raises:
        Refusal: several may be meant, or there is no room in this direction.
    """
    kind = _kinds().get(fix.remedy)
    if kind is None or any(job.value(name) is not None for name in _theirs(fix)):
        return None
    known: set[str] = set()
    for framework in family_of(fix.framework):
        known.update(map(plain, framework.knobs))
        known.update(plain(key) for part in framework.accepts for key in part.releases)
        if job.elsewhere((framework.name, *framework.configured_by)) is not None:
            # The file that was not given may say the same, and both are compared.
            known.update(map(plain, framework.mirrors.values()))
    said = [one for one in said_in(job) if kind.means(one.key) and plain(one.key) not in known]
    said = [one for one in said if isinstance(one.value, bool) is (kind.to is not None)]
    chosen = _one(said, kind)
    if chosen is None:
        return None
    if kind.to is not None and chosen.value is kind.to:
        raise Refusal(f"{chosen.place} is already {str(kind.to).lower()}")
    if kind.to is not None:
        changed = with_value(job, chosen, str(kind.to).lower())
        return changed.remarked(_OWN.format(chosen.place))
    new = max(math.floor(chosen.value * kind.times), kind.least)
    if new >= chosen.value:
        raise Refusal(f"{chosen.place} is already {chosen.value}")
    partner = _partner(job, chosen, kind)
    changed = with_value(job, chosen, str(new))
    if partner is not None:
        times = -(-chosen.value // new)  # rounded up: the product may grow, and never shrinks
        now = next(one for one in said_in(changed) if one.where == partner.where)
        if now.value == partner.value:  # else it is worked out from the first
            changed = with_value(changed, now, f"{partner.value * times}", times)
    return changed.remarked(_OWN.format(chosen.place))


def change_own_limit(job: Job, fix: Fix, seconds: int | None) -> Job | None:
    """The job with a longer time limit of its groups in a key of its own; None without one.

    Args:
        job: all files.
        fix: that lengthens the limit.
        seconds: to what; None where it lengthens none.

    Raises:
        Refusal: several may be meant, it is as long already, or nobody tells its unit.
    """
    if seconds is None:
        return None
    theirs = {plain(knob.key) for knob in timeout_knobs(fix.framework, fix.version)}
    kind = _kinds()[_LIMIT]
    said = [o for o in said_in(job) if kind.means(o.key) and plain(o.key) not in theirs]
    chosen = _one(said, kind)
    if chosen is None:
        return None
    told = _UNIT.search(_last(chosen.key))
    if told is None and chosen.value < kind.least:
        raise Refusal(f"{chosen.place} is {chosen.value}: nothing tells its unit")
    unit = _UNITS[told[1]] if told is not None else 1
    wanted = -(-seconds // unit)
    if chosen.value >= wanted:
        raise Refusal(f"{chosen.place} is already {chosen.value}: another limit ran out")
    return with_value(job, chosen, str(wanted)).remarked(_OWN.format(chosen.place))


def change_fork_key(job: Job, fix: Fix) -> tuple[Job, Fix] | None:
    """The job with another way of a cure by a key of a fork, and that way; None without one.

    A program made from a framework keeps the ends of its keys under roots of its own:
    `worker.rollout.share` of `actor.rollout.share`. Just one such key must be there.
    """
    recipes = [r for f in family_of(fix.framework) for r in f.recipes.get(fix.remedy, ())]
    for recipe in recipes:
        if recipe.title is None or len(recipe.changes) != 1:
            continue
        (change,) = recipe.changes
        name = plain(change.name)
        end = ".".join(("", *name.split(".")[-2:]))
        found = [
            (held, key, value)
            for held in job.documents
            for key, value in held.settings.items()
            if key.endswith(end) and key != name and "." in name
        ]
        if len(found) != 1 or change.digits is None or not _SHARE.fullmatch(found[0][2]):
            continue
        held, key, value = found[0]
        new = round(float(value) * change.times, change.digits)
        if held.owner is None or held.file.language is not Language.YAML:
            continue
        if change.least is not None and new < change.least:
            continue
        text = held.file.text
        text = yaml_editor.set_key(text, spelled(text, key.split(".")), new)
        place = f"`{key}` ({held.file.path})"
        sentence = f"fix.{fix.remedy}"
        title = Message(key=f"{sentence}.title.{recipe.title}", values={"place": held.file.path})
        risk = fix.risk if recipe.risk is None else Message(key=f"{sentence}.risk.{recipe.risk}")
        changed = job.with_text(held, text).remarked(_OWN.format(place))
        return changed, replace(fix, title=title, risk=risk, patch=f"{key}={new}")
    return None


def _theirs(fix: Fix) -> Iterator[str]:
    """The keys by which the framework does what a fix does, in all spellings."""
    for framework in family_of(fix.framework):
        changes = [c for r in framework.recipes.get(fix.remedy, ()) for c in r.changes]
        for name in {change.name for change in changes}:
            yield name
            for knob in framework.knobs.values():
                if name in (knob.key, knob.renamed_to, *knob.spelled):
                    yield from (knob.key, *knob.spelled)


def _last(key: str) -> str:
    """The last part of a dotted key, by which its kind is told."""
    return key.rpartition(".")[2].lower()


def _one(said: Sequence[Said], kind: _Kind) -> Said | None:
    """The one that is meant; of one key in several files that which overrides the others."""
    best: dict[str, Said] = {}
    for one in sorted(said, key=_rank):
        best.setdefault(_last(one.key), one)
    found = list(best.values())
    for first in kind.first:
        found = [o for o in found if first.search(o.key.lower())] or found
    if len(found) > 1:
        places = ", ".join(one.place for one in found)
        raise Refusal(f"{len(found)} keys may be meant ({places}): it is unknown which")
    if not found:
        return None
    only = found[0]
    # One of the same name in another section, which nothing overrides either.
    alike = (o for o in said if _rank(o) == _rank(only) and _last(o.key) == _last(only.key))
    twin = next((other for other in alike if other.key != only.key), None)
    if twin is not None:
        raise Refusal(f"2 keys may be meant ({only.place}, {twin.place}): it is unknown which")
    if only.held.owner is None:
        raise Refusal(f"it belongs in {only.held.file.path}: give that file too")
    return only


def _rank(said: Said) -> tuple[int, bool]:
    """What overrides the others comes first."""
    language = said.held.file.language
    # A configuration written in Python overrides the defaults of the program that runs it.
    first = Language.YAML if language is Language.CODE and said.alone else language
    return ORDER.index(first), not said.alone


def _partner(job: Job, chosen: Said, kind: _Kind) -> Said | None:
    """The setting whose product with it stays the same, in the same file."""
    if kind.keeps is None:
        return None
    found = [
        one
        for one in said_in(job)
        if one.held.file.path == chosen.held.file.path and kind.keeps.fullmatch(_last(one.key))
    ]
    return found[0] if len(found) == 1 and found[0].value > 0 else None


@cache
def _kinds() -> Mapping[str, _Kind]:
    """By remedy, from the data."""
    return {
        remedy: _Kind(
            key=re.compile(row["key"]),
            never=re.compile(row["never"]),
            times=row.get("times", 1),
            least=row.get("least", 0),
            first=tuple(re.compile(first) for first in row.get("first", ())),
            keeps=re.compile(row["keeps"]) if "keeps" in row else None,
            to=row.get("to"),
        )
        for remedy, row in load("unhang.settings", "data/own_keys.toml").items()
    }
