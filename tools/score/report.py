"""Prints marks: a Markdown page of tables, a list of everything that is not right, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from score.batches import TITLE as BATCHES
from score.batches import Batch
from score.batches import table as batch_table
from score.chances import honest
from score.corpus import Corpus
from score.marks import Mark, Result
from score.tables import (
    Table,
    beside_keywords,
    by_cause,
    by_rule,
    by_source,
    by_strength,
    calibration,
    likely_reliability,
    risk_and_coverage,
    summarise,
)

_SEVERITY = (
    Result.BROKEN,
    Result.FALSE_BLAME,
    Result.WRONG,
    Result.ALL_CLEAR,
    Result.MISSED,
    Result.RIGHT,
)

_INTRODUCTION = """# Accuracy

This page is written by `make score`: every number is measured, none is edited by hand.

Each labelled job is judged from its files alone. A label lists every answer that a fair judge
may give (`accept`) and those that would be false blame (`must_not`). *False blame weighs more
than a miss*: where the files do not suffice, the right answer is "undetermined" or "located",
with advice on what to collect. The scenarios of this project were written from the mechanisms and
message formats, the external sets come from public failures and were used to find mistakes: treat
the figures as an upper bound for logs of a kind never seen.
"""


_KEYWORDS = """The same jobs, answered by a search for sixteen groups of keywords
(`tools/score/baseline.py`): what anybody gets without a judge. It is fitted
to nothing and is never changed.
"""

_LIKELY = """Where no cause is shown, the likeliest one is named with its chance. Here each job's
chances were counted without the jobs of its own source, over public threads and logs whose cause is
known from the label, also where the files do not suffice to tell it. The second table goes from
what is proved to an answer for every job.
"""

_BATCHES = """Jobs that were labelled before anything of them was judged, and judged once: this
table is what a user can trust. Their texts are not kept here. A batch that could be learnt from
since is marked.
"""


def page(
    marks: Mapping[str, Sequence[Mark]], corpora: Iterable[Corpus], recorded: Sequence[Batch] = ()
) -> str:
    """The Markdown page. It holds no times and no paths: the same code writes the same page."""
    present = [c for c in corpora if marks.get(c.key)]
    everything = [m for c in present for m in marks[c.key]]
    external = honest(everything)
    external = [m for m in external if m.case.corpus != "own"]
    parts = [_INTRODUCTION, "## Summary\n", _markdown(_summary(marks, present))]
    parts += ["## Keywords beside the judge\n", _KEYWORDS]
    told = [(c.title, [m for m in external if m.case.corpus == c.key]) for c in present]
    parts += [_markdown(beside_keywords([(title, found) for title, found in told if found]))]
    parts += ["## Likely causes\n", _LIKELY]
    parts += [_markdown(likely_reliability(external)), _markdown(risk_and_coverage(external))]
    parts += [batch_section(recorded)] if recorded else []
    for table in (calibration(everything), by_strength(everything), by_rule(everything)):
        parts += [f"## {table.title}\n", _markdown(table)]
    for corpus in present:
        found = marks[corpus.key]
        parts += [f"## By cause: {corpus.title}\n", _markdown(by_cause(found))]
        if corpus.key == "logs":
            parts += [f"## By source: {corpus.title}\n", _markdown(by_source(found))]
    return "\n".join(parts)


def batch_section(recorded: Sequence[Batch]) -> str:
    """The heading and the table of batches."""
    return "\n".join((f"## {BATCHES}\n", _BATCHES, _markdown(batch_table(recorded))))


def with_batches(page: str, recorded: Sequence[Batch]) -> str:
    """The page with the batches' section written anew, all else as it is."""
    before, _, rest = page.partition(f"## {BATCHES}\n")
    next_heading = "## Calibration\n"
    if not rest:
        before, _, rest = page.partition(next_heading)
    after = rest.partition(next_heading)[2] or rest
    return f"{before}{batch_section(recorded)}\n{next_heading}{after}"


def misses(marks: Iterable[Mark]) -> str:
    """Everything that is not as its label has it, worst first, one short block each."""
    wrong = sorted(
        (m for m in marks if not m.perfect),
        key=lambda m: (_SEVERITY.index(m.result), m.case.corpus, m.case.name),
    )
    return "\n".join(_block(m) for m in wrong)


def to_json(marks: Iterable[Mark]) -> str:
    """All marks for other programs, in the order of their names."""
    return json.dumps([_record(m) for m in marks], indent=1)


def _summary(marks: Mapping[str, Sequence[Mark]], corpora: Sequence[Corpus]) -> Table:
    columns = [summarise(marks[c.key]) for c in corpora]
    rows: list[tuple[object, ...]] = [("jobs", *(len(marks[c.key]) for c in corpora))]
    for index, (name, _) in enumerate(columns[0] if columns else []):
        rows.append((name, *(column[index][1] for column in columns)))
    return Table("Summary", ("", *(c.title for c in corpora)), tuple(rows))


def _markdown(table: Table) -> str:
    lines = ["| " + " | ".join(table.head) + " |", "|" + "---|" * len(table.head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join(lines) + "\n"


def _block(m: Mark) -> str:
    case, verdict = m.case, m.verdict
    label = m.result.value if m.result is not Result.RIGHT else "right, but"
    lines = [f"{label:12} {case.corpus}/{case.name}"]
    expected = ", ".join(sorted(case.accept))
    got = verdict.error or verdict.cause or verdict.outcome
    strength = "" if verdict.strength is None else f" {verdict.strength} {verdict.confidence:.2f}"
    lines.append(f"             expected {expected}; got {got}{strength}")
    if m.complaints:
        lines.append(f"             {'; '.join(m.complaints)}")
    if verdict.candidates:
        named = (f"{c.cause} {c.strength} [{' '.join(c.rules)}]" for c in verdict.candidates[:4])
        lines.append(f"             candidates {', '.join(named)}")
    if verdict.fired:
        lines.append(f"             fired {' '.join(verdict.fired)}")
    lines += [f"             problem {problem}" for problem in verdict.problems[:3]]
    return "\n".join(lines)


def _record(m: Mark) -> dict[str, object]:
    case, verdict = m.case, m.verdict
    return {
        "corpus": case.corpus,
        "name": case.name,
        "result": m.result.value,
        "perfect": m.perfect,
        "complaints": list(m.complaints),
        "accept": sorted(case.accept),
        "must_not": sorted(case.must_not),
        "expected_culprits": None if case.culprits is None else sorted(case.culprits),
        "suffices": case.suffices,
        "healthy": case.healthy,
        "outcome": verdict.outcome,
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "strength": verdict.strength,
        "culprits": sorted(verdict.culprits),
        "contested": m.contested,
        "candidates": [
            {
                "cause": c.cause,
                "confidence": c.confidence,
                "strength": c.strength,
                "culprits": sorted(c.culprits),
                "rules": list(c.rules),
            }
            for c in verdict.candidates
        ],
        "likely": verdict.likely,
        "chance": round(verdict.chance, 3),
        "likely_culprits": sorted(verdict.likely_culprits),
        "signs": dict(verdict.signs),
        "found_by_keywords": m.found.cause,
        "fired": list(verdict.fired),
        "collect": verdict.collect,
        "error": verdict.error,
        "seconds": round(verdict.seconds, 3),
    }
