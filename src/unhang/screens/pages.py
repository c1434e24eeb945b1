"""From a feed to the plain data that the web page shows; every sentence is in one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from unhang.live.messages.job_snapshot import (
    GroupView,
    HostView,
    JobSnapshot,
    RankClass,
    RankView,
    Stage,
    Suspicion,
)
from unhang.live.run_folder.rank_times import activity_of
from unhang.model.ids import NO_RANKS, Ranks, format_ranks
from unhang.model.phases import Phase
from unhang.model.provenance import Message
from unhang.model.waits import Analysis, Snapshot, Wait
from unhang.reporters.catalogue import sentences, write
from unhang.reporters.fields import fields
from unhang.reporters.html.heatmap import by_rank, legend
from unhang.reporters.html.markup import join
from unhang.reporters.html.wait_drawing import draw
from unhang.reporters.html.wait_graph import graph_of
from unhang.screens.feed import Feed, RunEvent

MOST_RANKS = 2_048
"""Rows of the table of ranks; larger jobs are read by their classes."""

_OF_A_RANK = (
    "rank host condition place since_s steps cpu=cpu_share memory=rss_bytes gpu=gpu_bytes"
    " read=read_rate written=write_rate beat=beat_age_s"
)
LABELS = (
    "screen.title",
    "screen.classes",
    "screen.groups",
    "screen.waits_for",
    "screen.checked",
    "screen.heat",
    "screen.events",
    "screen.ranks",
    "screen.hosts",
    "screen.lost",
    "screen.live",
    "screen.finished",
    "screen.replay",
    "screen.gone_quiet",
    "screen.nothing_yet",
    "screen.calm",
    "screen.theme",
    "screen.key.quit",
    "screen.key.earlier",
    "screen.key.later",
    "screen.key.now",
    "screen.column.ranks",
    "screen.column.condition",
    "screen.column.phase",
    "screen.column.place",
    "screen.column.since",
    "screen.column.group",
    "screen.column.members",
    "screen.column.issued",
    "screen.column.completed",
    "screen.column.waiting",
    "screen.column.lacking",
    "screen.column.limit",
    "screen.column.host",
    "screen.column.steps",
    "screen.column.cpu",
    "screen.column.memory",
    "screen.column.gpu",
    "screen.column.read",
    "screen.column.written",
    "screen.column.beat",
)
"""What stands on the page besides the data."""


def labels(language: str) -> dict[str, str]:
    """The page's own words, by key without `screen.`."""
    return {
        key.removeprefix("screen."): write(Message(key=key, values={}), language) for key in LABELS
    }


def units(language: str) -> dict[str, str]:
    """Words that durations are written with."""
    return {key: text for key, text in sentences(language).items() if key.startswith("unit.")}


def overview(feed: Feed, language: str) -> dict[str, object]:
    """What the head of the page shows, and whether anybody still watches."""
    record = feed.record()
    span = feed.span()
    verdict = feed.verdict()
    return {
        "record": {**asdict(record), "command": " ".join(record.command)},
        "live": feed.is_live(),
        "span": None if span is None else list(span),
        "verdict": None if verdict is None else _verdict(verdict),
        "labels": labels(language) | units(language),
        "language": language,
    }


def view(standing: JobSnapshot, language: str) -> dict[str, object]:
    """One standing."""
    told = (s.culprits for s in standing.suspicions if s.stage is not Stage.WATCHED)
    suspects = NO_RANKS.union(*told)
    return {
        **fields(standing, "at=at_s up_s world_size restart"),
        "classes": [_class(item, suspects, language) for item in standing.classes],
        "groups": [_group(item) for item in standing.groups],
        "graph": _graph(standing, suspects, language),
        "edges": [
            {
                "waiters": format_ranks(edge.waiters),
                "on": format_ranks(edge.on),
                "call": _call(edge.call.op, edge.call.seq),
                "group": edge.call.description or edge.call.group or "",
                "since_s": edge.since_s,
            }
            for edge in standing.edges
        ],
        "suspicions": [_suspicion(item, language) for item in standing.suspicions],
        "hosts": [_host(host, language) for host in standing.hosts],
        "ranks": [_rank(item, suspects, language) for item in standing.ranks[:MOST_RANKS]],
        "lost": [loss.say(language) for loss in standing.lost],
    }


def event(item: RunEvent, language: str) -> dict[str, object]:
    """One line of the list of events."""
    known = item.message is not None and item.message.key in sentences(language)
    return {
        **fields(item, "number at kind ranks phase"),
        "who": ranks_name(item.ranks, language),
        "why": write(item.message, language) if item.message and known else item.why,
    }


def ranks_name(ranks: str, language: str) -> str:
    """`ranks 0-3`; "" for nobody."""
    key = "unit.rank" if ranks.isdigit() else "unit.ranks"
    return write(Message(key=key, values={"n": ranks}), language) if ranks else ""


def heatmap(samples: Sequence[JobSnapshot], language: str) -> dict[str, object]:
    """The heatmap as a piece of HTML; "" where nothing was sampled."""
    found = activity_of(samples)
    if found is None:
        return {"html": ""}
    return {"html": str(join(by_rank(found, language), legend(found, language)))}


def phase_name(phase: Phase | None, language: str) -> str:
    """The name of a phase, "" where it is unknown."""
    if phase is None:
        return ""
    return write(Message(key=f"phase.{phase.value}", values={}), language)


def condition_name(item: RankClass | RankView, language: str) -> str:
    """What a rank does, in words."""
    name = write(Message(key=f"screen.condition.{item.condition.value}", values={}), language)
    return f"{name} · {item.op}" if item.op else name


def _graph(standing: JobSnapshot, suspects: Ranks, language: str) -> str:
    """Who waits for whom as a piece of HTML, "" where nobody does."""
    waits = tuple(
        Wait(call=edge.call, waiters=edge.waiters, awaited=edge.on, waited_s=edge.since_s)
        for edge in standing.edges
    )
    if not waits:
        return ""
    notes = [
        (item.ranks, " ".join(p for p in (condition_name(item, language), item.place) if p))
        for item in standing.classes
    ]
    held_up = NO_RANKS.union(*(wait.waiters for wait in waits))
    analysis = Analysis(snapshot=Snapshot(waits=waits), held_up=held_up)
    return str(draw(graph_of(analysis, language, notes, culprits=suspects), language))


def _class(item: RankClass, suspects: Ranks, language: str) -> dict[str, object]:
    return {
        **fields(item, "ranks condition place since_s"),
        "count": len(item.ranks),
        "suspected": not item.ranks.isdisjoint(suspects),
        "doing": condition_name(item, language),
        "phase": phase_name(item.phase, language),
    }


def _group(item: GroupView) -> dict[str, object]:
    return {
        **fields(item, "members waiting lacking since_s"),
        "name": item.description or item.name,
        "issued": _extent(item.issued),
        "completed": _extent(item.completed),
        "limit_s": None if item.timeout_ms is None else item.timeout_ms / 1_000,
        "governed": item.governed_ms is not None,
    }


def _rank(item: RankView, suspects: Ranks, language: str) -> dict[str, object]:
    return {
        **fields(item, _OF_A_RANK),
        "suspected": item.rank in suspects,
        "doing": condition_name(item, language),
        "phase": phase_name(item.phase, language),
    }


def _host(item: HostView, language: str) -> dict[str, object]:
    who = ranks_name(format_ranks(item.ranks), language)
    return {**fields(item, "host age_s ranks"), "who": who}


def _suspicion(item: Suspicion, language: str) -> dict[str, object]:
    return {
        **fields(item, "stage charge culprits victims since_s why", language),
        "phase": phase_name(item.phase, language),
        "title": write(Message(key=f"screen.stage.{item.stage.value}", values={}), language),
    }


def _verdict(diagnosis: Mapping[str, object]) -> dict[str, object]:
    """The few fields of `unhang.diagnosis/1` that the head of the page shows."""
    kept = (
        *("outcome", "cause", "confidence", "culprits", "culprit_hosts", "phase", "summary"),
        "written_s",
    )
    return {key: diagnosis.get(key) for key in kept}


def _extent(numbers: tuple[int, int] | None) -> str:
    if numbers is None:
        return ""
    low, high = numbers
    return str(low) if low == high else f"{low} … {high}"


def _call(op: str | None, seq: int | None) -> str:
    return " ".join(part for part in (op or "", "" if seq is None else f"#{seq}") if part)
