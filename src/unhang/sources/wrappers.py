"""What launchers and collectors put in front of every line, and what it tells of the speaker.

A wrapper is *strong* when its shape is unmistakable. A *weak* one (`3: `, `> `, `[1803] `,
`node1: `) looks like ordinary text and counts only when something unmistakable follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from unhang import lazy_re as re
from unhang.model.forms import rows
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin

Take = Callable[[re.Match[str], Origin], Origin]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """One shape.

    Attributes:
        pattern: matches at the wrapper's first character.
        take: adds what the wrapper tells to what is known.
        whole_line: whoever printed it put one before each physical line, so that it also holds
            for a message that is glued to the end of that line.
        quotes: it marks a quotation.
    """

    pattern: re.Pattern[str]
    take: Take
    whole_line: bool
    quotes: bool = False


_FIELD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*[=:]\s*(?P<value>[\w.-]+)")


def _rank(match: re.Match[str], origin: Origin) -> Origin:
    """`[rank0]:[rank4]:` is a local prefix in front of the process's own, global one."""
    return _ranked(origin, Rank(int(match["rank"])))


@lru_cache(maxsize=8_192)
def _ranked(origin: Origin, rank: Rank) -> Origin:
    if origin.rank is not None and origin.local_rank is None and origin.rank < rank:
        return replace(origin, rank=rank, local_rank=LocalRank(int(origin.rank)))
    return replace(origin, rank=rank)


def _local_rank(match: re.Match[str], origin: Origin) -> Origin:
    host = match.groupdict().get("host") or origin.host
    return replace(origin, local_rank=LocalRank(int(match["local"])), host=host)


def _ray(match: re.Match[str], origin: Origin) -> Origin:
    groups = match.groupdict()
    return replace(
        origin,
        actor=(groups["actor"] or "").strip() or None,
        pid=int(groups["pid"]) if groups.get("pid") else origin.pid,
        host=groups["ip"] or origin.host,
    )


def _rank_on(match: re.Match[str], origin: Origin) -> Origin:
    host = match.groupdict().get("host")
    return replace(origin, rank=Rank(int(match["rank"])), host=host or origin.host)


def _node(match: re.Match[str], origin: Origin) -> Origin:
    return replace(origin, host=match["ip"] or match["name"])


def _task(match: re.Match[str], origin: Origin) -> Origin:
    return _tasked(origin, int(match["task"]))


@lru_cache(maxsize=8_192)
def _tasked(origin: Origin, task: int) -> Origin:
    return replace(origin, task=task)


def _host(match: re.Match[str], origin: Origin) -> Origin:
    pid = match.groupdict().get("pid")
    named = _RANK_OF_NAME.fullmatch(match["host"])
    if named is not None:
        host = named["host"] or origin.host
        return replace(origin, rank=Rank(int(named["rank"])), host=host)
    return _hosted(origin, match["host"], origin.pid if pid is None else int(pid))


@lru_cache(maxsize=8_192)
def _hosted(origin: Origin, host: str, pid: int | None) -> Origin:
    """Lines of few speakers are many."""
    return replace(origin, host=host, pid=pid)


_RANK_OF_NAME = re.compile(r"(?:(?P<host>.{1,120})[.:/_-])?rank[_-]?(?P<rank>\d{1,6})")


def _fields(match: re.Match[str], origin: Origin) -> Origin:
    """`[host=gpu07 rank=3 pid=4711]`: whatever is in brackets and names a speaker by its keys."""
    for field in _FIELD.finditer(match["fields"]):
        key, value = field["key"].lower().replace("_", ""), field["value"]
        if key in {"host", "hostname", "node", "nodename", "ip"}:
            origin = replace(origin, host=value)
        elif not value.isdigit() or len(value) > _MOST_DIGITS:
            continue
        elif key in {"rank", "globalrank", "rankid"}:
            origin = replace(origin, rank=Rank(int(value)))
        elif key in {"localrank", "lrank"}:
            origin = replace(origin, local_rank=LocalRank(int(value)))
        elif key == "pid":
            origin = replace(origin, pid=int(value))
    return origin


_MOST_DIGITS = 9


def _process(match: re.Match[str], origin: Origin) -> Origin:
    return _of_process(origin, int(match["pid"]))


@lru_cache(maxsize=8_192)
def _of_process(origin: Origin, pid: int) -> Origin:
    return replace(origin, pid=pid)


def _nothing(match: re.Match[str], origin: Origin) -> Origin:  # noqa: ARG001 (a `Take`)
    return origin


_TAKES: dict[str, Take] = {
    take.__name__.strip("_"): take
    for take in (
        *(_rank, _local_rank, _ray, _rank_on, _node, _task, _host, _fields, _process, _nothing),
    )
}
WRAPPERS = tuple(
    Wrapper(pattern, _TAKES[row["says"]], "own" not in row, "quotes" in row)
    for row, pattern in rows("unhang.sources", "data/wrappers.toml")
)
