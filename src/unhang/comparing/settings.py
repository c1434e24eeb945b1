"""Which settings differ between the two sides, and whether the change took effect on every rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.model.comparison import RanksOfRun, RunFacts, SettingChange
from unhang.model.ids import NO_RANKS, Rank, Ranks
from unhang.settings.verdicts import SettingContext, judge

_VERSIONS = frozenset({"torch", "nccl", "cuda", "python"})


def changed(before: Sequence[RunFacts], after: Sequence[RunFacts]) -> tuple[SettingChange, ...]:
    """Compare what the runs recorded; runs without a record are left out."""
    old, new = ([run for run in side if run.settings] for side in (before, after))
    if not old or not new:
        return ()
    names = sorted({setting.name for run in (*old, *new) for setting in run.settings})
    return tuple(
        _change(name, old, new) for name in names if _values(old, name) != _values(new, name)
    )


def _change(name: str, before: Sequence[RunFacts], after: Sequence[RunFacts]) -> SettingChange:
    old, new = _values(before, name), _values(after, name)
    fresh = tuple(value for value in new if value not in old) or new
    wanted = fresh[0] if len(fresh) == 1 else None
    lacking = tuple(_lacking(name, wanted, after)) if wanted is not None or not new else ()
    printed = {p.value for run in after for p in run.printed if p.name == name}
    return SettingChange(
        name=name,
        before=old,
        after=new,
        partly=bool(lacking) or len(fresh) > 1,
        lacking=lacking,
        unrecorded=tuple(_unrecorded(after)),
        printed=tuple(sorted(printed)),
        remark=next(
            (v.reason for v in judge(name, wanted, _context(after)) if v.futile), None
        )
        if wanted is not None and name not in _VERSIONS
        else None,
    )  # fmt: skip


def _lacking(name: str, wanted: str | None, runs: Sequence[RunFacts]) -> Iterator[RanksOfRun]:
    """Ranks without the wanted value; None = those that still have any."""
    for run in runs:
        having = [s for s in run.settings if s.name == name]
        ranks = _ranks(s.ranks for s in having if wanted in (None, s.value))
        wrong = ranks if wanted is None else _recorded(run) - ranks
        nobody = wanted is not None and not any(s.value == wanted for s in having)
        if wrong or nobody:
            yield RanksOfRun(run=run.name, ranks=wrong)


def _unrecorded(runs: Sequence[RunFacts]) -> Iterator[RanksOfRun]:
    """Ranks of the job of which nothing was recorded."""
    for run in runs:
        everybody = frozenset(Rank(n) for n in range(run.world_size or 0))
        if missing := everybody - _recorded(run):
            yield RanksOfRun(run=run.name, ranks=missing)


def _recorded(run: RunFacts) -> Ranks:
    return _ranks(s.ranks for s in run.settings)


def _ranks(sets: Iterator[Ranks]) -> Ranks:
    return NO_RANKS.union(*sets)


def _values(runs: Sequence[RunFacts], name: str) -> tuple[str, ...]:
    return tuple(sorted({s.value for run in runs for s in run.settings if s.name == name}))


def _context(runs: Sequence[RunFacts]) -> SettingContext:
    """The releases of the runs, where they are the same in all."""
    torch, nccl = _values(runs, "torch"), _values(runs, "nccl")
    return SettingContext(
        torch=torch[0] if len(torch) == 1 else None, nccl=nccl[0] if len(nccl) == 1 else None
    )
