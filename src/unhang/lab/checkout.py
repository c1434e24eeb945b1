"""The rehearsals of a checkout: the installed package has drills, but not the frameworks' jobs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from unhang.errors import UsageError
from unhang.lab.truth import Truth

_SOURCES = Path(__file__).parents[2]
"""Where `unhang` lies: `src` of a checkout, or `site-packages`."""


class Rehearsals(Protocol):
    """What `rehearsals/command.py` of a checkout offers."""

    def text(self, language: str, /) -> str:
        """The list of situations, for a terminal; their summaries in a language."""

    def rows(self) -> list[dict[str, object]]:
        """The list of situations, for programs."""

    def has(self, name: str, /) -> bool:
        """Whether a situation is called so."""

    def run_one(self, name: str, folder: Path, /, *, live: bool) -> Truth:
        """Let a situation's job fail once."""

    def rehearse_some(
        self,
        name: str,
        folder: Path,
        /,
        *,
        live: bool,
        pages: Path | None,
        reuse: bool,
        tell: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> bool:
        """Rehearse one situation, or `all`; True when all succeeded."""


def rehearsals() -> Rehearsals | None:
    """The rehearsals beside this package; None where it is not run from a checkout."""
    root = _SOURCES.parent
    if _SOURCES.name != "src" or not (root / "rehearsals" / "command.py").is_file():
        return None
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return cast("Rehearsals", importlib.import_module("rehearsals.command"))


def needed_rehearsals() -> Rehearsals:
    """The rehearsals beside this package.

    Raises:
        UsageError: there are none; the message says where they are.
    """
    found = rehearsals()
    if found is None:
        raise UsageError(
            f"situations are rehearsed from a checkout of unhang's sources, and this unhang is"
            f" installed in {_SOURCES}: the package has drills (`unhang drill list`), but not the"
            " frameworks' jobs. Clone the repository, run `make setup` in it, then"
            " `.venv/bin/unhang drill rehearse NAME` there"
        )
    return found
