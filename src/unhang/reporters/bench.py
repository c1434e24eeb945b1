"""From a benchmark to text: tables for a terminal, JSON, and the form of nccl-tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median_high

from unhang.model.bench import BenchComparison, BenchPair, BenchReport, BenchRow, Speed
from unhang.model.provenance import Message
from unhang.reporters.catalogue import sentence, write
from unhang.reporters.fields import fields, plain
from unhang.reporters.json import dumps
from unhang.reporters.printable import one_line
from unhang.reporters.style import PLAIN, Style

SCHEMA = "unhang.bench/1"
FORMS = ("terminal", "json", "nccl-tests")
"""The forms of a benchmark."""

_GIGA = 1e9
_OF_A_ROW = "operation bytes=size_bytes variant runs_s seconds algbw busbw wrong"
_RATES = "     time   algbw   busbw #wrong"
"""By this title, blanks and all, readers of nccl-tests know the table."""
_MICRO = 1e6
_MOST_NUMBERS = 10
_SHADES = "x░▒▓█"
"""Of a pair, by its share of what is usual; more pairs than have room as numbers."""
_ANSWERS = {
    Speed.FASTER: "bench.faster",
    Speed.SLOWER: "bench.slower",
    Speed.NO_DIFFERENCE: "bench.same",
    Speed.MORE_RUNS: "bench.more",
}


def render_bench(report: BenchReport, form: str, style: Style = PLAIN) -> str:
    """Return the report in one of the forms, without a line end."""
    match form:
        case "json":
            return dumps(_as_dict(report))
        case "nccl-tests":
            return "\n".join(_nccl_tests(report))
        case _:
            return "\n".join(_screen(report, style.language))


def _as_dict(report: BenchReport) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        **fields(report, "hosts world_size=world torch"),
        "rows": [fields(row, _OF_A_ROW) for row in report.rows],
        "comparisons": [
            {
                **fields(c, "variant baseline verdict=answer ratio=ratio.estimate"),
                "interval": plain((c.ratio.low, c.ratio.high)),
                **fields(c, "runs runs_needed"),
            }
            for c in report.comparisons
        ],
        "pairs": [fields(pair, "one other rate") for pair in report.pairs],
        "problems": list(report.problems),
        "seconds": round(report.seconds, 3),
    }


def _screen(report: BenchReport, language: str) -> Iterator[str]:
    values: dict[str, object] = {
        "world": report.world, "hosts": len(report.hosts), "torch": report.torch
    }  # fmt: skip
    yield sentence(Message(key="bench.head", values=values), language)
    for variant in _variants(report):
        yield ""
        yield _words(variant)
        names = ("operation", "bytes", "time", "algbw", "busbw", "wrong")
        heads = [write(Message(key=f"bench_column.{name}"), language) for name in names]
        yield f"{heads[0]:>16}{heads[1]:>12}{heads[2]:>14}{heads[3]:>12}{heads[4]:>12}{heads[5]:>8}"
        for row in report.rows:
            if row.variant == variant:
                yield (
                    f"{row.operation:>16}{row.size_bytes:>12}{row.seconds * _MICRO:>11.1f} µs"
                    f"{row.algbw / _GIGA:>12.3f}{row.busbw / _GIGA:>12.3f}{row.wrong:>8}"
                )
    if report.pairs:
        yield ""
        yield from _map(report.pairs, language)
    if report.comparisons:
        yield ""
    for comparison in report.comparisons:
        yield one_line(sentence(_compared(comparison), language))
    for problem in report.problems:
        did_not = Message(key="bench.did_not_run", values={"problem": one_line(problem)})
        yield sentence(did_not, language)


def _map(pairs: Sequence[BenchPair], language: str) -> Iterator[str]:
    """Who reaches whom how fast: a row and a column for each."""
    ends = list(dict.fromkeys(end for p in pairs for end in (p.one, p.other)))
    rates = {frozenset((p.one, p.other)): p.rate for p in pairs}
    slowest = min(pairs, key=lambda p: p.rate or 0.0)
    usual = median_high(rate or 0.0 for rate in rates.values())
    values = {"one": slowest.one, "other": slowest.other, "rate": slowest.rate or 0.0,
              "usual": usual}  # fmt: skip
    yield one_line(sentence(Message(key="bench.pairs", values=values), language))
    width = min(24, max(map(len, ends)))
    wide = len(ends) <= _MOST_NUMBERS
    if not wide:
        yield sentence(Message(key="bench.shades"), language)
    for row in ends:
        cells = []
        for column in ends:
            rate = rates.get(frozenset((row, column)))
            share = (rate or 0.0) / max(usual, 1.0)
            shade = _SHADES[min(int(share * (len(_SHADES) - 1)), len(_SHADES) - 1)]
            cell = f"{(rate or 0.0) / _GIGA:>8.2f}" if wide else shade
            cells.append((" " * 7 if wide else "") + "·" if row == column else cell)
        yield one_line(f"{row[-width:]:>{width}} {''.join(cells)}")


def _compared(comparison: BenchComparison) -> Message:
    values: dict[str, object] = {
        "variant": _words(comparison.variant),
        "baseline": _words(comparison.baseline),
        "ratio": f"{comparison.ratio.estimate:.2f}",
        "low": f"{comparison.ratio.low:.2f}",
        "high": f"{comparison.ratio.high:.2f}",
        "needed": comparison.runs_needed,
    }
    return Message(key=_ANSWERS[comparison.answer], values=values)


def _variants(report: BenchReport) -> list[Mapping[str, str]]:
    found: list[Mapping[str, str]] = []
    for row in report.rows:
        if row.variant not in found:
            found.append(row.variant)
    return found


def _words(variant: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variant.items())


def _nccl_tests(report: BenchReport) -> Iterator[str]:
    """As nccl-tests prints it, for tools that read that; only in place is measured."""
    for variant in _variants(report):
        for name in dict.fromkeys(row.operation for row in report.rows):
            rows = [r for r in report.rows if r.operation == name and r.variant == variant]
            yield f"# {name} on {report.world} ranks, {_words(variant)}"
            yield "# nThread 1 nGpus 1 (unhang bench)"
            yield f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}" + _RATES
            yield "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
            yield from map(_nccl_row, rows)
            mean = sum(row.busbw for row in rows) / max(1, len(rows)) / _GIGA
            yield f"# Avg bus bandwidth    : {mean:.4f}"
            yield "#"


def _nccl_row(row: BenchRow) -> str:
    redop = "sum" if "reduce" in row.operation else "none"
    root = 0 if row.operation in ("broadcast", "reduce") else -1
    return (
        f"{row.size_bytes:>12}{row.size_bytes // 4:>14}{'float':>10}{redop:>8}{root:>8}"
        f"{row.seconds * _MICRO:>9.2f}{row.algbw / _GIGA:>8.3f}{row.busbw / _GIGA:>8.3f}"
        f"{row.wrong:>7}"
    )
