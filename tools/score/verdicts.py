"""Runs the judge on one job, in a process of its own with a time limit."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

_PRELOADED = ["unhang.api", "score.verdicts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One candidate cause, as the judge states it."""

    cause: str
    confidence: float
    strength: str
    culprits: frozenset[int]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What counts of a diagnosis.

    Attributes:
        likely: the most probable cause where none is shown; None where nothing points anywhere.
        likely_culprits: the ranks named with it.
        chance: of the likely cause, as the judge states it.
        signs: that were weighed, by name, with the lines that hold one that is a word.
        fired: codes of all rules that said something, locating ones too.
        collect: pieces of advice on what to collect next.
        problems: files and rules that gave up.
        error: why there is no verdict: an exception, or the time limit.
    """

    outcome: str = "none"
    cause: str | None = None
    confidence: float = 0.0
    strength: str | None = None
    culprits: frozenset[int] = frozenset()
    phase: str | None = None
    candidates: tuple[Stated, ...] = ()
    likely: str | None = None
    likely_culprits: frozenset[int] = frozenset()
    chance: float = 0.0
    signs: Mapping[str, int] = field(default_factory=dict)
    fired: tuple[str, ...] = ()
    collect: int = 0
    problems: tuple[str, ...] = ()
    error: str | None = None
    seconds: float = 0.0


def judge_all(
    inputs: Iterable[Sequence[Path]], processes: int, limit_s: float
) -> Iterator[Verdict]:
    """Judge jobs side by side; the verdicts come in the order of the inputs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)

    def judge(paths: Sequence[Path]) -> Verdict:
        started = time.perf_counter()
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_send_verdict, args=(paths, sender))
        process.start()
        sender.close()
        verdict = _receive(receiver, limit_s)
        process.kill()
        process.join()
        if verdict.error is not None:
            return Verdict(error=verdict.error, seconds=time.perf_counter() - started)
        return verdict

    with ThreadPoolExecutor(processes) as pool:
        yield from pool.map(judge, inputs)


def judge_here(paths: Sequence[Path]) -> Verdict:
    """Judge one job in this process."""
    from unhang.api import diagnose
    from unhang.verdict.chances import counts

    started = time.perf_counter()
    found = diagnose(*map(str, paths))
    return Verdict(
        outcome=found.outcome.value,
        cause=None if found.cause is None else found.cause.value,
        confidence=found.confidence,
        strength=None if found.strength is None else found.strength.value,
        culprits=frozenset(int(r) for r in found.culprits),
        phase=None if found.phase is None else found.phase.value,
        candidates=tuple(
            Stated(
                cause=c.cause.value,
                confidence=c.confidence,
                strength=c.strength.value,
                culprits=frozenset(int(r) for r in c.culprits),
                rules=c.rules,
            )
            for c in found.candidates
        ),
        likely=None if found.likely is None else found.likely.cause.value,
        likely_culprits=frozenset() if found.likely is None else frozenset(found.likely.culprits),
        chance=0.0 if found.likely is None else found.likely.chance,
        signs=counts(found.signs),
        fired=found.fired,
        collect=len(found.collect_next),
        problems=tuple(f"{p.component}: {p.message}" for p in found.problems),
        seconds=time.perf_counter() - started,
    )


def _receive(receiver: Connection, limit_s: float) -> Verdict:
    if not receiver.poll(limit_s):
        return Verdict(error=f"no verdict within {limit_s:.0f} s")
    try:
        verdict = receiver.recv()
    except EOFError:
        return Verdict(error="the judge's process died")
    assert isinstance(verdict, Verdict)
    return verdict


def _send_verdict(paths: Sequence[Path], sender: Connection) -> None:
    try:
        sender.send(judge_here(paths))
    except Exception as error:
        sender.send(Verdict(error=f"{type(error).__name__}: {error}"))
