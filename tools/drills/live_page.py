"""The page on what the judge says while jobs fail: `docs/drills-live.md`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drills import words
from drills.runs import Result
from unhang.lab.scoring import Mark

_HEADINGS = ("drill", "what happens", "truth", "live", "after the fault, s", "mark")
_KINDS = (
    *("kind of fault", "drills", *(mark.value for mark in Mark)),
    *("within 5 s", "within 10 s", "longest, s"),
)
_LIMITS_S = (5.0, 10.0)


def page(results: list[Result], left: list[str], minutes: float) -> Iterable[str]:
    """Yield its lines."""
    faults = [r for r in results if not r.drill.finishes and r.report is not None]
    healthy = [r for r in results if r.drill.finishes and r.report is not None]
    yield from (
        "<!-- Made by `make drill-live`; edit tools/drills, not this page. -->",
        "",
        "# Drills under `unhang run`",
        "",
        "The faults of [drills.md](drills.md), put into real jobs that `unhang run` watches, with",
        "a limit of 10 minutes on every collective: who was named, and how long after the fault.",
        "",
        f"{words.facts()}, in {minutes:.0f} minutes.",
        "",
        *totals(faults, healthy),
        f"Left behind: {', '.join(left) or 'nothing'}.",
        "",
        *words.table(_KINDS, _by_kind(faults)),
        "",
        *words.table(_HEADINGS, map(row, results)),
        "",
        "*Right*: exactly the culprits, from the first word that names them on. *Suspected* is",
        "told within seconds and ends no job; *hang* is proved, or lasted longer than the judge's",
        "[patience](live.md); *late* names ranks that are at work (a save, an evaluation, a loop",
        "in Python); *end* is the verdict on a job that its launcher had ended. To call work a",
        "hang is *wrong*, as is to accuse anybody else, to give a false cause, or to call a hang",
        "in a job that is well. *Undetermined*: nothing false, but not all. The",
        "verdict that `unhang run` prints with a hang is marked as well. Seconds count from the",
        "moment just before the fault, so that a job which notices it later, or takes its time to",
        "end, adds to them.",
    )


def totals(faults: Sequence[Result], healthy: Sequence[Result]) -> Iterable[str]:
    """Yield the sums."""
    kinds = {kind for result in faults for kind in result.drill.kinds}
    yield f"Faults: {words.counts(_marks(faults))}, of {len(kinds)} kinds.  "
    yield f"Jobs that are well: {words.counts(_marks(healthy))}.  "
    for title, limit_s in (
        ("Deaths, stops and differences, which prove themselves", 5.0),
        ("Standstills and late work, of which time must tell", 10.0),
    ):
        group = [r for r in faults if r.drill.named_within_s == limit_s]
        in_time = sum(_named_s(r) <= limit_s for r in group)
        named = sum(_named_s(r) < float("inf") for r in group)
        yield f"{title}: {in_time} of {len(group)} named within {limit_s:.0f} s, {named} at all.  "


def row(result: Result) -> tuple[str, ...]:
    """The cells of one drill."""
    drill, report = result.drill, result.report
    first = (f"`{drill.name}`", drill.summary, words.truth_of(result))
    if report is None or report.live is None:
        return (*first, words.not_run(result), "", "")
    after = "" if report.named_s is None else f"{report.named_s:.1f}"
    return (*first, words.live(report), after, report.live.value)


def _by_kind(faults: Sequence[Result]) -> Iterable[tuple[str, ...]]:
    for kind in sorted({kind for result in faults for kind in result.drill.kinds}):
        mine = [result for result in faults if kind in result.drill.kinds]
        seconds = [_named_s(result) for result in mine]
        known = [s for s in seconds if s < float("inf")]
        yield (
            kind,
            str(len(mine)),
            *(str(_marks(mine).count(mark)) for mark in Mark),
            *(str(sum(s <= limit_s for s in seconds)) for limit_s in _LIMITS_S),
            f"{max(known):.1f}" if known else "",
        )


def _marks(results: Iterable[Result]) -> list[Mark]:
    reports = (result.report for result in results)
    return [r.live for r in reports if r is not None and r.live is not None]


def _named_s(result: Result) -> float:
    """Seconds until it was named right; infinite where it was not."""
    report = result.report
    if report is None or report.live is not Mark.RIGHT or report.named_s is None:
        return float("inf")
    return report.named_s
