"""`unhang drill`: faults on purpose, in real jobs on this machine."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from unhang import lazy_re as re
from unhang.commands.output import language_option, locale_language, with_form, write_text


@click.group(name="drill")
def command() -> None:
    """Run a real job that fails in a known way, and score the verdict."""


@command.command(name="list")
@with_form("terminal", "json", prints="the list")
@language_option
def list_drills(*, form: str, lang: str | None) -> None:
    """Show every drill: what it does, the right verdict, what it needs."""
    from unhang.lab.checkout import rehearsals
    from unhang.lab.drills import DRILLS
    from unhang.lab.messages import tell_drills

    language = lang or locale_language()
    text, situations = tell_drills(DRILLS, form), rehearsals()
    if form == "json":
        rows = [] if situations is None else situations.rows()
        write_text(json.dumps({**json.loads(text), "situations": rows}, indent=1) + "\n")
    elif situations is None:
        write_text(f"{_said(text, language)}\n")
    else:
        text += "\n\nSituations, with the frameworks themselves:"
        more = situations.text(language)
        write_text(f"{_said(text, language)}\n\n{_said(more, language)}\n")


@command.command(name="run", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.option("--out", metavar="DIR", help="New folder for the artifacts (default: drill-NAME).")
@click.option("--live", is_flag=True, help="Run the job under `unhang run --out DIR/run`.")
@click.option(
    "--limit", type=click.FloatRange(min=1), metavar="S", help="Time limit of collectives."
)
@click.option(
    "--within",
    type=click.FloatRange(min=1),
    metavar="S",
    help="End the job after S s (default: 55, and 150 where it is to finish).",
)
@language_option
@click.argument("job", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND…]")
def run_one(
    *,
    name: str,
    out: str | None,
    live: bool,
    limit: float | None,
    within: float | None,
    lang: str | None,
    job: tuple[str, ...],
) -> int:
    """Run a drill on the lab's training script or on COMMAND, and record the truth.

    COMMAND is any launch command (`torchrun … train.py`); the faults are injected without changing
    it. The exit code is 1 if the fault never happened, because the job did not reach that point.
    """
    from unhang.lab.checkout import rehearsals
    from unhang.lab.drills import find_drill
    from unhang.lab.messages import tell_truth
    from unhang.lab.running import run_drill

    folder = Path(out or f"drill-{name}")
    situations = rehearsals()
    if situations is not None and situations.has(name):
        _echo(tell_truth(situations.run_one(name, folder, live=live), folder), lang)
        return 0
    drill = find_drill(name)
    truth = run_drill(
        drill,
        folder,
        command=job,
        live=() if live else None,
        limit_s=limit,
        within_s=within,
    )
    _echo(tell_truth(truth, folder), lang)
    return int(truth.at is None and not truth.finishes)


@command.command(name="rehearse")
@click.argument("name")
@click.option("--out", metavar="DIR", help="New folder for the results (default: rehearsal-NAME).")
@click.option("--live", is_flag=True, help="Also run the job under `unhang run`.")
@click.option("--pages", metavar="DIR", help="Write a page NAME.md with all output to DIR.")
@click.option("--reuse", is_flag=True, help="Judge the results in DIR again; run what is missing.")
@language_option
def rehearse_one(
    *, name: str, out: str | None, live: bool, pages: str | None, reuse: bool, lang: str | None
) -> int:
    """Rehearse a situation: the job fails, is judged, is fixed, and finishes.

    NAME is one situation, or `all`. The framework's environment is built on the first run and kept
    in the user's cache. Situations need a checkout of unhang; the package does not contain them.
    """
    from unhang.lab.checkout import needed_rehearsals

    succeeded = needed_rehearsals().rehearse_some(
        name,
        Path(out or f"rehearsal-{name}"),
        live=live,
        pages=None if pages is None else Path(pages),
        reuse=reuse,
        tell=partial(_echo, lang=lang),
        warn=partial(_echo, lang=lang, err=True),
    )
    return int(not succeeded)


@command.command(name="judge")
@click.argument("folder", metavar="DIR")
@with_form("terminal", "json", prints="the comparison")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a verdict is wrong.")
@language_option
def judge_one(*, folder: str, form: str, exit_code: bool, lang: str | None) -> int:
    """Diagnose what a drill left in DIR, and compare with the truth."""
    from unhang.lab.messages import tell_report
    from unhang.lab.scoring import Mark, judge_drill

    report = judge_drill(Path(folder))
    if form == "json":
        click.echo(json.dumps(report.to_json()))
    else:
        _echo(tell_report(report), lang)
    return int(exit_code and any(each.mark is Mark.WRONG for each in report.judged))


def _echo(text: str, lang: str | None, *, err: bool = False) -> None:
    click.echo(_said(text, lang or locale_language()), err=err)


def _said(text: str, language: str) -> str:
    """The lines of the lab in a language; what stands in columns is said column by column."""
    if language == "en":
        return text
    from unhang.reporters.catalogue.by_text import translated

    return "".join(translated(part, language) for part in re.split(r"(\n| {2,})", text))
