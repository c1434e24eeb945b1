"""What `unhang drill` does with situations: lists them, lets one fail, rehearses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rehearsals.messages import situation_rows, tell_situations
from rehearsals.page import in_chinese, write_page
from rehearsals.record import Rehearsal, read_rehearsal
from rehearsals.registry import SITUATIONS, find_situation
from rehearsals.rehearsal import fail, judge_again, rehearse
from rehearsals.summary import write_summary
from unhang.errors import UnhangError
from unhang.lab.truth import Truth


def text(language: str) -> str:
    """The list of situations, for a terminal; their summaries in a language."""
    return tell_situations(SITUATIONS.values(), in_chinese if language == "zh" else str)


def rows() -> list[dict[str, object]]:
    """The list of situations, for programs."""
    return situation_rows(SITUATIONS.values())


def has(name: str) -> bool:
    """Whether a situation is called so."""
    return name in SITUATIONS


def run_one(name: str, folder: Path, *, live: bool) -> Truth:
    """Let a situation's job fail once; see `rehearsals.rehearsal.fail`."""
    return fail(find_situation(name), folder, live=live)


def rehearse_some(
    name: str,
    folder: Path,
    *,
    live: bool,
    pages: Path | None,
    reuse: bool,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> bool:
    """Rehearse one situation, or `all`, each in a folder of its own.

    Args:
        name: of a situation, or `all`.
        folder: of the situation; with `all`, the one that holds theirs.
        live: also run each job under `unhang run`.
        pages: where the pages of documentation are written.
        reuse: judge anew what a folder holds.
        tell: is told each step in one line.
        warn: is told why one of `all` could not be rehearsed.

    Returns:
        Whether all succeeded.

    Raises:
        UnhangError: there is no such situation, or the only one asked for could not be rehearsed.
    """
    wanted = {name: folder} if name != "all" else {each: folder / each for each in SITUATIONS}
    found: dict[str, Rehearsal] = {}
    for each, place in wanted.items():
        try:
            found[each] = _rehearsed(each, place, live=live, reuse=reuse, tell=tell)
            if pages is not None:
                write_page(find_situation(each), found[each], place, pages)
        except UnhangError as error:  # noqa: PERF203 - each takes minutes
            if name != "all":
                raise
            warn(f"{each}: {error}")
    if pages is not None and name == "all":
        write_summary(found.values(), pages)
    return all(each in found and found[each].succeeded for each in wanted)


def _rehearsed(
    name: str, place: Path, *, live: bool, reuse: bool, tell: Callable[[str], None]
) -> Rehearsal:
    situation = find_situation(name)
    before = read_rehearsal(place) if reuse else None
    if before is not None:
        return judge_again(situation, before, place, tell=tell)
    return rehearse(situation, place, live=live, tell=tell)
