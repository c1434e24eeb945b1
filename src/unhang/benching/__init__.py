"""Measures collectives on one host or a cluster, and compares settings in turns."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

from unhang import lazy_re as re
from unhang.benching.statistics import decide
from unhang.checking.cluster import ClusterRequest, Ramp
from unhang.checking.collectives import OPERATIONS, bandwidths
from unhang.checking.hub import Hub
from unhang.checking.isolation import tournament
from unhang.checking.launched import Seat, find_seat
from unhang.checking.member import SWEPT, take_part
from unhang.checking.pair_tests import why_failed
from unhang.errors import UsageError
from unhang.model.bench import BenchComparison, BenchPair, BenchReport, BenchRow
from unhang.model.units import size

__all__ = ["BenchReport", "bench", "parse_sizes"]

BACKEND = "backend"
GROUPS = ("all", "host", "pair")
"""All ranks together, the ranks of each host, and each pair of hosts (of ranks, on one host)."""
_JOIN_S, _RUN_S = 120.0, 300.0
_MOST_VARIANTS, _MOST_RANKS = 64, 64
_SIZES = "4KiB..4MiB"
_BACKENDS = frozenset({"gloo", "nccl"})

Variant = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is run in each turn."""

    operations: tuple[tuple[str, int, int], ...]
    variants: tuple[Variant, ...]
    runs: int
    groups: tuple[str, ...]


def bench(
    *,
    operations: Sequence[str] = ("all_reduce",),
    sizes: str = _SIZES,
    repeats: int = 5,
    runs: int = 1,
    sweep: Sequence[str] = (),
    backend: str | None = None,
    ranks: int | None = None,
    port: int | None = None,
    groups: Sequence[str] = ("all",),
) -> BenchReport | None:
    """Measure collectives; every value is compared bit for bit.

    Args:
        operations: names, such as `all_reduce`.
        sizes: `4KiB..64MiB` (doubled four times each step), or a list with commas.
        repeats: of one call in a run.
        runs: fresh processes, in turns of all variants.
        sweep: `NAME=a,b` of variables whose values are compared; the first one is the baseline.
        backend: `gloo`, `nccl`, or both with a comma to compare them.
        ranks: to start on this host; None = those of a launcher, else 2.
        port: of rank 0 below a launcher.
        groups: who runs them together, of `GROUPS`; a sweep is of all ranks.

    Returns:
        What was measured at rank 0; None elsewhere.

    Raises:
        UsageError: something asked for does not exist, or the ranks cannot start.
    """
    for name in operations:
        if name not in OPERATIONS:
            raise UsageError(f"{name!r} is not an operation; expected {', '.join(OPERATIONS)}")
    if unknown := set(groups) - set(GROUPS):
        raise UsageError(f"{min(unknown)!r} is not a group; expected {', '.join(GROUPS)}")
    if runs < 1 or repeats < 1:
        raise UsageError("runs and repeats must be at least 1")
    grid = tuple((name, count, repeats) for name in operations for count in parse_sizes(sizes))
    variants = tuple(_variants(sweep, backend))
    plan = _Plan(operations=grid, variants=variants, runs=runs, groups=tuple(groups))
    seat = None if ranks is not None else find_seat(os.environ, port)
    if seat is None:
        return _here(plan, 2 if ranks is None else ranks)
    if seat.rank != 0:
        take_part(seat, "gloo", _JOIN_S)
        return None
    return _lead(plan, seat, [replace(seat, address="127.0.0.1")])


def parse_sizes(text: str) -> list[int]:
    """Bytes of a list, or of a range in steps of four.

    >>> parse_sizes("1KiB..64KiB")
    [1024, 4096, 16384, 65536]

    Raises:
        UsageError: it is neither.
    """
    first, dots, last = text.partition("..")
    if not dots:
        return [size(part, "--sizes") for part in text.split(",")]
    low, high = size(first, "--sizes"), size(last, "--sizes")
    if low > high:
        raise UsageError(f"--sizes: {text!r} goes down; expected the smaller size first")
    return list(itertools.takewhile(lambda n: n <= high, (low * 4**i for i in range(32))))


def _variants(sweep: Sequence[str], backend: str | None) -> Iterator[Variant]:
    """Every combination of the values, the first of each first."""
    axes: list[list[tuple[str, str]]] = []
    for one in sweep:
        name, sign, values = one.partition("=")
        if not sign or not values or not re.fullmatch(SWEPT, name):
            raise UsageError(
                f"--sweep {one!r}: expected NAME=a,b with a variable of NCCL, torch, gloo or UCX"
            )
        axes.append([(name, value) for value in values.split(",")])
    chosen = backend or ("nccl" if Path("/dev/nvidia0").exists() else "gloo")
    names = chosen.split(",")
    if unknown := set(names) - _BACKENDS:
        raise UsageError(f"--backend {min(unknown)!r}: expected gloo or nccl")
    axes.append([(BACKEND, name) for name in names])
    found = [dict(values) for values in itertools.product(*axes)]
    if len(found) > _MOST_VARIANTS:
        raise UsageError(f"{len(found)} variants; expected at most {_MOST_VARIANTS}")
    yield from found


def _here(plan: _Plan, ranks: int) -> BenchReport:
    """All ranks on this host, as threads that each keep a process."""
    if not 2 <= ranks <= _MOST_RANKS:
        raise UsageError(f"ranks is {ranks}; expected 2 to {_MOST_RANKS}")
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
    seats = [
        Seat(
            rank=rank, world=ranks, local_rank=rank, local_world=ranks, address="127.0.0.1",
            port=port, key=os.urandom(16).hex() if rank == 0 else "", host=socket.gethostname(),
            host_key="here",
        )
        for rank in range(ranks)
    ]  # fmt: skip
    return _lead(plan, seats[0], [replace(seat, key=seats[0].key) for seat in seats])


def _lead(plan: _Plan, seat: Seat, own: Sequence[Seat]) -> BenchReport:
    begun = time.monotonic()
    hub = Hub(seat.port, seat.key)
    threads = [threading.Thread(target=_member, args=(one,), daemon=True) for one in own]
    for thread in threads:
        thread.start()
    ramp = Ramp(hub, seat.world, ClusterRequest(join_s=_JOIN_S))
    try:
        if not ramp.meet():
            raise UsageError(f"of {seat.world} ranks only {len(hub.hellos)} joined")
        return replace(_measure(plan, ramp), seconds=time.monotonic() - begun)
    finally:
        for rank in list(hub.lines):
            hub.order(rank, {"do": "end"})
        for thread in threads:
            thread.join(5.0)
        hub.close()


def _member(seat: Seat) -> None:
    with contextlib.suppress(UsageError):  # rank 0 then misses it, and says so
        take_part(seat, "gloo", _JOIN_S)


def _measure(plan: _Plan, ramp: Ramp) -> BenchReport:
    """All variants in turns: what disturbs one disturbs the next as well."""
    group = list(range(ramp.world))
    seen: dict[int, list[list[Mapping[str, Any]]]] = {i: [] for i in range(len(plan.variants))}
    problems: dict[int, str] = {}
    for turn in range(plan.runs if "all" in plan.groups else 0):
        order = list(range(len(plan.variants)))
        for index in order[turn % len(order) :] + order[: turn % len(order)]:
            if index in problems:
                continue
            variant = dict(plan.variants[index])
            backend = variant.pop(BACKEND)
            answers = ramp.run_groups(
                [group], plan.operations, _RUN_S, backend=backend, environment=variant
            )
            why = next((w for w in (why_failed(answers.get(rank)) for rank in group) if w), "")
            if why:
                problems[index] = f"{_words(plan.variants[index])}: {why}"
            else:
                seen[index].append([answers[rank] for rank in group])
    rows = tuple(
        row
        for index, variant in enumerate(plan.variants)
        if index not in problems
        for row in _rows(variant, seen[index], ramp.world)
    )
    rows += tuple(_within(plan, ramp, problems)) if "host" in plan.groups else ()
    first = next(iter(seen.values()))
    return BenchReport(
        hosts=ramp.hosts,
        world=ramp.world,
        torch=first[0][0].get("torch") if first else None,
        rows=rows,
        comparisons=tuple(_comparisons(plan.variants, rows)),
        pairs=tuple(_pairs(plan, ramp)) if "pair" in plan.groups else (),
        problems=tuple(problems.values()),
    )


def _within(plan: _Plan, ramp: Ramp, problems: dict[int, str]) -> Iterator[BenchRow]:
    """The ranks of each host together, all hosts at once: the slowest counts."""
    groups = [ranks for ranks in ramp.results.ranks.values() if len(ranks) > 1]
    if len({len(ranks) for ranks in groups}) != 1:
        problems[-1] = "group host: expected the same number of ranks, two or more, on each host"
        return
    backend = plan.variants[0][BACKEND]
    answers = ramp.run_groups(groups, plan.operations, _RUN_S, backend=backend, environment={})
    members = [rank for ranks in groups for rank in ranks]
    why = next((w for w in (why_failed(answers.get(rank)) for rank in members) if w), "")
    if why:
        problems[-1] = f"group host: {why}"
        return
    run = [answers[rank] for rank in members]
    yield from _rows({BACKEND: backend, "group": "host"}, [run], len(groups[0]))


def _pairs(plan: _Plan, ramp: Ramp) -> Iterator[BenchPair]:
    """Each pair, in rounds in which nobody is twice, with the largest of the sizes."""
    ends = {host: ranks[0] for host, ranks in ramp.results.ranks.items()}
    if len(ends) == 1:
        ends = {str(rank): rank for rank in range(ramp.world)}
    largest = max(count for _, count, _ in plan.operations)
    asked = (("send_recv", largest, plan.operations[0][2]),)
    environment: Variant | None = {}  # fresh processes once, and then the same ones
    for turn in tournament(list(ends)):
        pairs = [[ends[name] for name in pair] for pair in turn]
        answers = ramp.run_groups(
            pairs, asked, _RUN_S, backend=plan.variants[0][BACKEND], environment=environment
        )
        environment = None
        for (one, other), ranks in zip(turn, pairs, strict=True):
            told = [answers.get(rank) for rank in ranks]
            rate = None
            if not any(map(why_failed, told)):
                (row,) = _rows({}, [[answer for answer in told if answer is not None]], 2)
                rate = row.algbw
            yield BenchPair(one=one, other=other, rate=rate)


def _words(variant: Variant) -> str:
    return " ".join(f"{name}={value}" for name, value in variant.items())


def _rows(
    variant: Variant, runs: Sequence[Sequence[Mapping[str, Any]]], world: int
) -> Iterator[BenchRow]:
    if not runs:
        return
    for place, cell in enumerate(runs[0][0]["results"]):
        cells = [[answer["results"][place] for answer in run] for run in runs]
        times = tuple(max(median(one["seconds"]) for one in run) for run in cells)
        seconds = median(times)
        name, count = cell["operation"], int(cell["bytes"])
        algbw, busbw = bandwidths(name, count, seconds, world)
        yield BenchRow(
            operation=name, size_bytes=count, variant=variant, runs_s=times, seconds=seconds,
            algbw=algbw, busbw=busbw, wrong=sum(one["wrong"] for run in cells for one in run),
        )  # fmt: skip


def _comparisons(
    variants: Sequence[Variant], rows: Sequence[BenchRow]
) -> Iterator[BenchComparison]:
    """Each variant against the first, by the geometric mean over operations and sizes."""
    turns = [_turns([row for row in rows if row.variant == variant]) for variant in variants]
    for variant, own in zip(variants[1:], turns[1:], strict=True):
        if turns[0] and own:
            answer, interval, more = decide(turns[0], own)
            yield BenchComparison(
                variant=variant, baseline=variants[0], answer=answer, ratio=interval,
                runs=len(own), runs_needed=more,
            )  # fmt: skip


def _turns(rows: Sequence[BenchRow]) -> list[float]:
    runs = zip(*(row.runs_s for row in rows), strict=True)
    return [exp(fmean(log(max(seconds, 1e-9)) for seconds in turn)) for turn in runs]
