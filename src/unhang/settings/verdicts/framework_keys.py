"""Whether a framework's release has a key, and whether a key is a timeout's name misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from unhang.model.lint import Severity
from unhang.settings.frameworks import find_knob, frameworks
from unhang.settings.verdicts.base import Given, SettingVerdict, say
from unhang.settings.versions import at_least, at_most

_TIMEOUTS = (
    "ddp_timeout",
    "distributed_timeout_minutes",
    "distributed_timeout_seconds_after_init",
    "init_timeout_seconds",
    "train_timeout_seconds",
)
_CLOSE = 0.9


def check(given: Given) -> Iterator[SettingVerdict]:
    """Judge a key of a framework's configuration."""
    framework = given.context.framework
    knob = None if framework is None else find_knob(framework, given.name)
    if knob is None:
        yield from _misspelt(given)
        return
    version = given.context.framework_version if knob.framework == framework else None
    if knob.last is not None and at_most(version, knob.last) is False:
        yield say(
            given,
            "CFG103",
            Severity.WARNING,
            "key_gone" if knob.renamed_to is None else "key_renamed",
            framework=knob.framework,
            last=knob.last,
            use=knob.renamed_to,
            replacement=knob.renamed_to,
            futile=True,
            mechanical=knob.renamed_to is not None,
        )
    elif knob.since is not None and at_least(version, knob.since) is False:
        yield say(
            given,
            "CFG106",
            Severity.WARNING,
            "key_new",
            framework=knob.framework,
            since=knob.since,
            version=version,
            futile=True,
        )
    elif knob.last is not None and version is None and knob.framework == framework:
        newest = frameworks()[framework].newest
        if knob.renamed_to is None and newest is not None:
            yield say(
                given,
                "CFG103",
                Severity.INFO,
                "key_gone_guessed",
                framework=knob.framework,
                last=knob.last,
                newest=newest,
            )
            return
    if knob.renamed_to is not None and version is None:
        yield say(
            given,
            "CFG104",
            Severity.INFO,
            "key_renamed",
            framework=knob.framework,
            last=knob.last,
            use=knob.renamed_to,
            replacement=knob.renamed_to,
        )


def _misspelt(given: Given) -> Iterator[SettingVerdict]:
    """Only names close to a timeout's: of other keys no table here is complete."""
    last = given.name.rpartition(".")[2].replace("-", "_")
    if "time" not in last or last in _TIMEOUTS or _known(given.name, last):
        return
    near = difflib.get_close_matches(last, _TIMEOUTS, n=1, cutoff=_CLOSE)
    if near:
        yield say(given, "CFG102", Severity.WARNING, "misspelt", replacement=near[0], use=near[0])


def _known(name: str, last: str) -> bool:
    known = frameworks().values()
    keys = {key for f in known for key in (*(k.key for k in f.timeouts), *f.knobs)}
    return not keys.isdisjoint({name, last, f"--{last}"})
