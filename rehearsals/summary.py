"""From rehearsals to the table of all situations: what was real, seconds, right or wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rehearsals.environments import ENVIRONMENTS, Environment
from rehearsals.record import AttemptEnd, Live, Rehearsal
from rehearsals.watching import Said
from unhang.lab.scoring import Judged

_HEADINGS = (
    "situation",
    "versions",
    "fails after",
    "from the logs",
    "with dumps and stacks",
    "with the remedy",
    "named live, s",
    "`--timeouts judge`",
)


def write_summary(rehearsals: Iterable[Rehearsal], folder: Path) -> Path:
    """Write `index.md` beside the pages of the situations."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "index.md"
    path.write_text("\n".join(_lines(tuple(rehearsals))) + "\n", encoding="utf-8")
    return path


def summary_rows(rehearsals: Iterable[Rehearsal]) -> list[tuple[str, ...]]:
    """One row for each rehearsal, in the order of the headings."""
    return [_row(each) for each in rehearsals]


def _lines(rehearsals: Sequence[Rehearsal]) -> list[str]:
    minutes = sum(each.seconds for each in rehearsals) / 60
    left = [name for each in rehearsals for name in each.left]
    return [
        "# Situations from the field, with the frameworks themselves",
        "",
        "`unhang drill rehearse all` wrote this page: each row is one run on CPUs, over gloo, and",
        "every number is measured. The pages behind the names hold the real output, and say what",
        "is patched and what is played. A late rank is named live when an event names it and no",
        "other one; the first column says so for `--on-hang abort`, where the job keeps its limit,",
        "the second for `--timeouts judge`, where the judge governs it.",
        "",
        f"All of it took {minutes:.0f} min on {len(os.sched_getaffinity(0))} cores at a load of"
        f" {os.getloadavg()[2]:.0f}. Left behind: {', '.join(left) or 'nothing'}.",
        "",
        _joined(_HEADINGS),
        _joined(["---"] * len(_HEADINGS)),
        *(_joined(row) for row in summary_rows(rehearsals)),
        "",
        "## Environments",
        "",
        "Each set of pins has its own virtual environment, built at its first use and kept in",
        "`~/.cache/unhang/drills` (`$XDG_CACHE_HOME`); other pins make another one.",
        "",
        _joined(("environment", "packages", "built in")),
        _joined(["---"] * 3),
        *(_joined(_environment(each)) for each in ENVIRONMENTS),
    ]


def _environment(environment: Environment) -> tuple[str, ...]:
    seconds = environment.build_s
    return (
        environment.name,
        str(len(environment.pins)),
        "–" if seconds is None else f"{seconds:.0f} s",
    )


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(found: Rehearsal) -> tuple[str, ...]:
    logs, everything = found.judged[0], found.judged[-1]
    return (
        f"[{found.name}]({found.name}.md) [中文]({found.name}.zh.md)",
        ", ".join(f"{name} {version}" for name, version in found.versions.items()),
        f"{found.before.seconds:.0f} s",
        _verdict(logs),
        _verdict(everything),
        _ended(found.after),
        "–" if found.live is None else _named(found.live.said),
        "–" if found.patient is None else _patient(found.patient),
    )


def _verdict(judged: Judged) -> str:
    of = f" of rank {judged.culprits}" if judged.culprits else ""
    sure = f" ({judged.confidence:.0%})" if judged.confidence > 0 else ""
    return f"{judged.mark.value}: {judged.said}{of}{sure}"


def _ended(ending: AttemptEnd) -> str:
    return f"{ending.word}, {ending.seconds:.0f} s"


def _patient(live: Live) -> str:
    return f"{_named(live.said)}, {_ended(live.ending)}"


def _named(said: Said) -> str:
    if said.accused:
        return f"wrong: rank {', '.join(map(str, said.accused))}"
    return (
        "not named" if said.named_after_s is None else f"{said.named_after_s:.1f} s ({said.kind})"
    )
