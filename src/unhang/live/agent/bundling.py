"""Puts everything about a hang into one bundle, in a thread, while the agent goes on watching."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unhang.live.books.folder import RunFolder
from unhang.live.messages.losses import Loss
from unhang.model.capture import SUFFIX, Entry
from unhang.model.ids import Rank
from unhang.reporters.catalogue import write

_STACKS = "stacks"
"""Source of the stacks that a debugger reads."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """What came of it.

    Attributes:
        number: of the dumps that belong in it.
        path: the bundle, or None where there is none.
        failure: why there is none.
        lacks: stacks that are not in it.
    """

    number: int
    path: Path | None
    failure: Loss | None = None
    lacks: tuple[Loss, ...] = ()


def bundle(folder: RunFolder, number: int, report: Callable[[Bundled], None]) -> None:
    """Capture this host's part of the run; `report` is called from another thread."""

    def work() -> None:
        report(_bundle(folder, number))

    threading.Thread(target=work, name=f"bundle-{number}", daemon=True).start()


def _bundle(folder: RunFolder, number: int) -> Bundled:
    try:
        from unhang.collect import capture

        result = capture(
            run_folder=folder.root,
            dumps=[folder.dump(number)],
            out=folder.captures / f"{number}{SUFFIX}",
        )
    except Exception as error:  # whatever it was, the job is watched on
        return Bundled(number, None, Loss.failed("no_bundle", error))
    return Bundled(number, result.path, lacks=tuple(_lacks(result.manifest.entries)))


def _lacks(entries: Iterable[Entry]) -> Iterator[Loss]:
    """Debuggers that could not look into a rank: its stack may be all that is missing."""
    for entry in entries:
        rank = re.fullmatch(r"rank (\d+)", entry.subject)
        if entry.source == _STACKS and entry.why is not None and rank is not None:
            values = {"why": write(entry.why)}
            yield Loss("stacks_untaken", values, frozenset({Rank(int(rank[1]))}))
