"""The page on verdicts on what failed jobs left: `docs/drills.md`."""

from __future__ import annotations

from collections.abc import Iterable

from drills import words
from drills.runs import Result

_HEADINGS = (
    *("drill", "what happens", "right verdict", "job, s"),
    *("from the logs alone", "with dumps and stacks", "judged in, s"),
)


def page(results: list[Result], left: list[str]) -> Iterable[str]:
    """Yield its lines."""
    run = [result.report for result in results if result.report is not None]
    yield from (
        "<!-- Made by `make drills`; edit tools/drills, not this page. -->",
        "",
        "# Drills",
        "",
        "Faults put on purpose into real jobs of this machine, and what was said of what they",
        "left. Nothing is mocked: processes, torchrun, gloo, signals, control groups, network",
        "namespaces and file systems are real. GPUs and NCCL are not part of it, and a sleep or a",
        "loop stands for the slow work. `unhang drill run NAME` runs one of them, on your own",
        "launch command too (`-- torchrun … train.py`). What `unhang run` says of the same faults",
        "while the jobs run is in [drills-live.md](drills-live.md).",
        "",
        f"{words.facts()}.",
        "",
        f"From the logs alone: {words.counts(r.judged[0].mark for r in run)}.  ",
        f"With dumps and stacks: {words.counts(r.judged[-1].mark for r in run)}.  ",
        f"Left behind: {', '.join(left) or 'nothing'}.",
        "",
        *words.table(_HEADINGS, map(row, results)),
        "",
        "*Right*: the cause (or, where the list of causes has none, who and where) and exactly the",
        "culprits. *Undetermined*: nothing false, but not all. Links that fail count as right when",
        "the verdict abstains: nothing in logs, dumps and stacks over gloo shows a link. Faults",
        "are put in by `unhang.lab.faults`; the training scripts are in `unhang/lab/scripts`.",
        "Situations with the frameworks themselves have pages of their own, in `situations/`.",
    )


def row(result: Result) -> tuple[str, ...]:
    """The cells of one drill."""
    drill, report = result.drill, result.report
    first = (f"`{drill.name}`", drill.summary, words.truth_of(result))
    if report is None:
        return (*first, words.not_run(result), "", "", "")
    logs, everything = report.judged[0], report.judged[-1]
    judged = (words.afterwards(logs), words.afterwards(everything), f"{everything.seconds:.2f}")
    return (*first, str(report.truth.seconds), *judged)
