"""Puts everything about a hang into one bundle, in a thread, while the agent goes on watching."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unhang import lazy_re as re
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.losses import Loss
from unhang.live.run_folder.layout import RunFolder
from unhang.model.capture import SUFFIX, ManifestEntry
from unhang.model.ids import Rank, Ranks
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


@dataclass(frozen=True, slots=True)
class Released:
    """The capture of that number needs the processes of the job no more, and goes on."""

    number: int


def bundle(
    folder: RunFolder,
    number: int,
    report: Callable[[Bundled | Released], None],
    *,
    ends: bool,
    suspects: Ranks | None,
) -> None:
    """Capture this host's part of the run; `report` is called from another thread.

    Args:
        folder: the run folder.
        number: of the dumps that belong in it.
        report: takes what came of it, and before that the release of a job that is to end.
        ends: the job is to be ended as soon as the capture lets it.
        suspects: ranks that are looked at closely before the job ends; None = all.
    """

    def work() -> None:
        report(_bundle(folder, number, release if ends else None, suspects))

    def release() -> None:
        report(Released(number))

    threading.Thread(target=work, name=f"bundle-{number}", daemon=True).start()


def suspects_of(culprits: Ranks, standing: JobSnapshot | None) -> Ranks | None:
    """The culprits, and of those that do the same one rank each; None = nobody is told from others.

    Args:
        culprits: as the monitor and the rules have them.
        standing: the view of the job, where this node has it.
    """
    if not culprits or standing is None:
        return None
    others = (each.ranks - culprits for each in standing.classes)
    return culprits | {min(ranks) for ranks in others if ranks}


def _bundle(
    folder: RunFolder, number: int, release: Callable[[], None] | None, suspects: Ranks | None
) -> Bundled:
    try:
        from unhang.capturing import Deadline, capture

        result = capture(
            run_folder=folder.root,
            dumps=[folder.dump(number)],
            out=folder.captures / f"{number}{SUFFIX}",
            deadline=None if release is None else Deadline(release=release, suspects=suspects),
        )
    except Exception as error:  # whatever it was, the job is watched on
        return Bundled(number, None, Loss.failed("no_bundle", error))
    return Bundled(number, result.path, lacks=tuple(_lacks(result.manifest.entries)))


def _lacks(entries: Iterable[ManifestEntry]) -> Iterator[Loss]:
    """Debuggers that could not look into a rank: its stack may be all that is missing."""
    for entry in entries:
        rank = re.fullmatch(r"rank (\d+)", entry.subject)
        if entry.source == _STACKS and entry.why is not None and rank is not None:
            values = {"why": write(entry.why)}
            yield Loss("stacks_untaken", values, frozenset({Rank(int(rank[1]))}))
