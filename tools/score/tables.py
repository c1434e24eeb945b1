"""From marks to tables: counts that a report prints and a fitter of numbers reads."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from score.marks import Guilty, Mark, Result
from score.verdicts import Verdict

_BUCKETS = ((0.0, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1.01))


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    count: int
    of: int

    def __str__(self) -> str:
        """`12/14 (86 %)`, or a dash where there is nothing to count."""
        return f"{self.count}/{self.of} ({100 * self.count / self.of:.0f} %)" if self.of else "–"


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of cells that print themselves."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def summarise(marks: Sequence[Mark]) -> list[tuple[str, Share]]:
    """The headline figures of one corpus."""
    decidable = [m for m in marks if m.case.suffices and not m.case.healthy]
    healthy = [m for m in marks if m.case.healthy]
    open_ended = [m for m in marks if not m.case.suffices and not m.case.healthy]
    guilty = [m for m in marks if m.guilty is not None]
    return [
        ("as the label accepts", share(marks, lambda m: m.result is Result.RIGHT)),
        ("cause named, where the files suffice", share(decidable, _names_cause)),
        ("… among the first three", share(decidable, lambda m: m.top_three)),
        ("guilty ranks exact, where known", share(guilty, lambda m: m.guilty is Guilty.EXACT)),
        ("… an innocent rank named", share(guilty, lambda m: m.guilty is Guilty.INNOCENT)),
        ("false blame", share(marks, lambda m: m.result is Result.FALSE_BLAME)),
        ("wrong cause, not false blame", share(marks, lambda m: m.result is Result.WRONG)),
        ("failed job called healthy", share(marks, lambda m: m.result is Result.ALL_CLEAR)),
        ("healthy job called healthy", share(healthy, lambda m: m.verdict.outcome == "healthy")),
        ("healthy job left without a cause", share(healthy, lambda m: m.verdict.cause is None)),
        ("no cause named, where the files do not suffice", share(open_ended, _abstains)),
        ("… with advice on what to collect", share(_abstaining(open_ended), _advises)),
        ("no verdict", share(marks, lambda m: m.result is Result.BROKEN)),
    ]


def by_result(marks: Iterable[Mark]) -> dict[Result, int]:
    """How many verdicts of each kind."""
    counts = Counter(m.result for m in marks)
    return {result: counts[result] for result in Result}


def by_cause(marks: Iterable[Mark]) -> Table:
    """For each cause: how often it was due and found, and how often claimed and wrong."""
    due: Counter[str] = Counter()
    found: Counter[str] = Counter()
    claimed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for m in marks:
        if m.case.suffices and len(m.case.causes) > 0:
            name = _expected(m)
            due[name] += 1
            found[name] += m.result is Result.RIGHT
        if m.verdict.cause is not None:
            claimed[m.verdict.cause] += 1
            wrong[m.verdict.cause] += m.result is not Result.RIGHT
    rows = [
        (name, Share(found[name], due[name]), Share(wrong[name], claimed[name]))
        for name in sorted(due.keys() | claimed.keys())
    ]
    return Table("By cause", ("accepted causes", "found", "claimed and wrong"), tuple(rows))


def likely_reliability(marks: Iterable[Mark]) -> Table:
    """Of the likely causes given at a chance, how many are right; where no cause is shown."""
    told = [m for m in marks if m.verdict.likely is not None and not m.case.healthy]
    rows = []
    for low, high in ((0.2, 0.3), (0.3, 0.45), (0.45, 0.6), (0.6, 1.0)):
        inside = [m for m in told if low <= m.verdict.chance < high and m.known]
        stated = f"{sum(m.verdict.chance for m in inside) / len(inside):.2f}" if inside else "–"
        rows.append((f"{low:.1f} - {high:.1f}", stated, share(inside, _likely_right)))
    head = ("chance", "stated on average", "right, where the cause is known")
    return Table("Likely causes", head, tuple(rows))


def risk_and_coverage(marks: Iterable[Mark]) -> Table:
    """From what is proved to an answer at any price: how many are answered, and how many wrong."""
    failed = [m for m in marks if not m.case.healthy and m.known]
    answers = sorted((_answer(m) for m in failed), reverse=True)
    rows = []
    for name, least in _TIERS:
        given = [right for sure, right in answers if sure >= least]
        wrong = given.count(False)
        rows.append((name, Share(len(given), len(failed)), Share(wrong, len(given))))
    return Table("Risk and coverage", ("answers that are", "given", "wrong"), tuple(rows))


_TIERS = (
    ("proved", 2.95),
    ("… or supported", 2.0),
    ("… or likely, chance 0.6 and more", 0.6),
    ("… 0.5 and more", 0.5),
    ("… 0.4 and more", 0.4),
    ("… any likely cause", 0.01),
)


def _answer(m: Mark) -> tuple[float, bool]:
    """How sure an answer is (2 and its confidence for a verdict), and whether it is right."""
    if m.verdict.cause is not None:
        return 2 + m.verdict.confidence, m.verdict.cause in m.known
    if m.verdict.likely is not None:
        return m.verdict.chance, _likely_right(m)
    return 0.0, False


def _likely_right(m: Mark) -> bool:
    return m.verdict.likely in m.known


def beside_keywords(corpora: Iterable[tuple[str, Sequence[Mark]]]) -> Table:
    """The judge and the keyword search on the same jobs."""
    head = ("", "by", "right, where the files suffice", "likely counted", "false blame")
    rows = []
    for title, marks in corpora:
        for who, found in (("unhang", marks), ("keywords", [m.searched for m in marks])):
            failed = [m for m in found if m.case.suffices and not m.case.healthy]
            guilty = [m for m in found if m.guilty is not None]
            rows.append(
                (
                    title,
                    who,
                    share(failed, _names_cause),
                    share(failed, lambda m: forced(m.verdict) in m.case.causes),
                    share(found, lambda m: m.result is Result.FALSE_BLAME),
                    share(guilty, lambda m: m.guilty is Guilty.EXACT),
                    share(guilty, lambda m: m.guilty is Guilty.INNOCENT),
                )
            )
    return Table("Keywords", (*head, "ranks exact", "an innocent rank"), tuple(rows))


def by_source(marks: Iterable[Mark]) -> Table:
    """Right verdicts by who wrote the log, for sources with several logs."""
    sources: dict[str, list[Mark]] = defaultdict(list)
    for m in marks:
        sources[m.case.source].append(m)
    rows = []
    rest: list[Mark] = []
    for name, found in sorted(sources.items()):
        if len(found) > 2:
            rows.append(_source_row(name, found))
        else:
            rest += found
    if rest:
        rows.append(_source_row("others", rest))
    return Table("By source", ("source", "right", "false blame"), tuple(rows))


def calibration(marks: Iterable[Mark]) -> Table:
    """Of the verdicts given at a confidence, how many are right."""
    verdicts = [m for m in marks if m.verdict.cause is not None]
    rows = []
    for low, high in _BUCKETS:
        inside = [m for m in verdicts if low <= m.verdict.confidence < high]
        stated = sum(m.verdict.confidence for m in inside) / len(inside) if inside else None
        right = share(inside, lambda m: m.result is Result.RIGHT)
        label = f"{low:.2f} - {min(high, 1.0):.2f}"
        rows.append((label, "–" if stated is None else f"{stated:.2f}", right))
    return Table("Calibration", ("confidence", "stated on average", "right"), tuple(rows))


def by_strength(marks: Iterable[Mark]) -> Table:
    """Right and wrong first candidates by strength and cause: what confidences are fitted to.

    Every first candidate counts, also those below the threshold of a verdict.
    """
    right: Counter[tuple[str, str, str]] = Counter()
    total: Counter[tuple[str, str, str]] = Counter()
    for m in marks:
        best = m.best
        if best is None:
            continue
        rivals = "contested" if m.contested else "alone"
        for cause in (best.cause, "(all)"):
            key = (best.strength, rivals, cause)
            total[key] += 1
            right[key] += best.cause in m.case.accept
    order = {"proves": 0, "supports": 1, "hints": 2}
    rows = [
        (*key, Share(right[key], total[key]))
        for key in sorted(total, key=lambda key: (order[key[0]], *key[1:]))
    ]
    head = ("strength", "rivals", "cause", "right")
    return Table("First candidates by strength", head, tuple(rows))


def by_rule(marks: Iterable[Mark]) -> Table:
    """For each rule behind a first candidate: how often that candidate is right."""
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for m in marks:
        if m.verdict.cause is not None and m.best is not None:
            for code in m.best.rules:
                total[code] += 1
                right[code] += m.result is Result.RIGHT
    rows = [(code, Share(right[code], total[code])) for code in sorted(total)]
    return Table("Verdicts by rule", ("rule", "right"), tuple(rows))


def forced(verdict: Verdict) -> str | None:
    """The answer of a judge who must give one: the cause, else the likely one."""
    return verdict.cause or verdict.likely


def share(marks: Iterable[Mark], holds: Callable[[Mark], bool]) -> Share:
    """How many marks hold."""
    marks = list(marks)
    return Share(sum(1 for m in marks if holds(m)), len(marks))


def _names_cause(m: Mark) -> bool:
    return m.verdict.cause is not None and m.result is Result.RIGHT


def _abstains(m: Mark) -> bool:
    return m.verdict.cause is None and m.verdict.error is None


def _abstaining(marks: Iterable[Mark]) -> list[Mark]:
    return [m for m in marks if _abstains(m)]


def _advises(m: Mark) -> bool:
    return m.verdict.collect > 0


def _expected(m: Mark) -> str:
    return " / ".join(sorted(m.case.causes))


def _source_row(name: str, marks: Sequence[Mark]) -> tuple[object, ...]:
    return (
        name,
        share(marks, lambda m: m.result is Result.RIGHT),
        share(marks, lambda m: m.result is Result.FALSE_BLAME),
    )
