"""Which settings differ between the two sides, and whether the change reached everybody."""

from __future__ import annotations

from collections.abc import Sequence

from unhang.model.comparison import RunFacts, SettingChange


def changed(before: Sequence[RunFacts], after: Sequence[RunFacts]) -> tuple[SettingChange, ...]:
    """Compare what the runs recorded; runs without a record are left out."""
    sides = [[run for run in side if run.settings] for side in (before, after)]
    if not all(sides):
        return ()
    names = sorted({name for side in sides for run in side for name in run.settings})
    found = []
    for name in names:
        old, new = (_values(side, name) for side in sides)
        if old != new:
            partly = any(run.settings.get(name, ()) != tuple(new) for run in sides[1])
            found.append(SettingChange(name=name, before=old, after=new, partly=partly))
    return tuple(found)


def _values(runs: Sequence[RunFacts], name: str) -> tuple[str, ...]:
    return tuple(sorted({value for run in runs for value in run.settings.get(name, ())}))
