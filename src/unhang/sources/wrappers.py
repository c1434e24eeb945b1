"""What launchers and collectors put in front of every line, and what it tells of the speaker.

A wrapper is *strong* when its shape is unmistakable. A *weak* one (`3: `, `> `, `[1803] `,
`node1: `) looks like ordinary text and counts only when something unmistakable follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

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


_STRONG = (
    r"(?=\s{0,8}(?:"
    r"\[?[Rr]?(?:ank|ANK)[ :=_]?\d+\]|\[[A-Za-z_]\w*\d+\]:|\[[\w.-]+:\d+\]:"
    r"|\[?[EWIF](?:\d{3,4} \d\d:\d\d:\d\d| [\w./-]+:\d+\])|[\w./-]+\.(?:cpp|cc|py|h):\d+\] "
    r"|\([\w.:]* ?pid=\d+"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:|\d\d:\d\d:\d\d|\d\d/\d\d/\d{2,4} \d\d:"
    r"|[\w.-]+:\d+:\d+ \[\d+\]|Traceback \(most|  File \"|\[[A-Za-z ]+\] \d{4}-"
    r"|(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL)[ :|]))"
)
"""Something unmistakable follows."""

_NAME = r"[A-Za-z][\w.-]{0,120}"
_IP = r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}"
_NODE = (
    r"(?:node|host|worker|compute|server|trainer|master|launcher|dgx|hgx|gpu|nid|ip-|gn|cn|pod)"
    r"[\w.-]{0,100}\d[\w.-]{0,20}"
)
_SPEAKER = r"(?:global_?rank|rank|local_?rank|lrank|pid|host(?:name)?|node(?:name)?)"
_FIELD = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*[=:]\s*(?P<value>[\w.-]+)")
_NO_ROLE = r"(?!(?i:node|host|step|epoch|iter|pid|line|rank|gpu|cuda|tag|id|stage)[-_.]?\d)"


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
        elif key in {"rank", "globalrank"}:
            origin = replace(origin, rank=Rank(int(value)))
        elif key in {"localrank", "lrank"}:
            origin = replace(origin, local_rank=LocalRank(int(value)))
        elif key == "pid":
            origin = replace(origin, pid=int(value))
    return origin


_MOST_DIGITS = 9


def _nothing(match: re.Match[str], origin: Origin) -> Origin:  # noqa: ARG001 (a `Take`)
    return origin


def _wrapper(pattern: str, take: Take, *, whole_line: bool = True) -> Wrapper:
    return Wrapper(re.compile(pattern), take, whole_line)


WRAPPERS: tuple[Wrapper, ...] = (
    # Ray: `(WorkerDict pid=4711, ip=10.0.0.2) `, `(pid=4711) `, `(raylet, ip=10.0.0.2) `.
    _wrapper(
        r"\((?P<actor>[^\n=]{0,100}?) ?\bpid=(?P<pid>\d{1,9})(?:, ip=(?P<ip>[^\s)]{1,60}))?\) ?",
        _ray,
    ),
    _wrapper(
        r"\((?P<actor>raylet|autoscaler|gcs_server|log_monitor)(?: \+\w+)?"
        r"(?:, ip=(?P<ip>[^\s)]{1,60}))?\) ?",
        _ray,
    ),
    # SkyPilot counts nodes: `(head, rank=0, pid=4711)`, `(worker1, rank=1, pid=4711, ip=10.0.0.2)`.
    _wrapper(
        r"\((?P<name>head|worker\d{1,5}), rank=\d{1,5}, pid=\d{1,9}"
        r"(?:, ip=(?P<ip>[^\s)]{1,60}))?\) ?",
        _node,
    ),
    # The process's own: `[rank3]:`; its first characters may be lost.
    _wrapper(r"\[?rank[ :=_]?(?P<rank>\d{1,6})\]: ?", _rank, whole_line=False),
    _wrapper(
        r"(?:\[?r)?a?n?k?(?P<rank>\d{1,6})\]:(?=\[[EWIF](?:\d{3,4} | ))", _rank, whole_line=False
    ),
    _wrapper(r"\[(?:RANK|rank)[ :=_]{0,2}(?P<rank>\d{1,6})\]:? ", _rank, whole_line=False),
    _wrapper(r"(?:RANK|[Rr]ank)[ _]?(?P<rank>\d{1,6}) ?: ", _rank, whole_line=False),
    # torchrun: `[default3]:` and templates such as `[gpu07:3]:`.
    _wrapper(
        rf"\[{_NO_ROLE}[A-Za-z_][\w.-]{{0,60}}?(?P<local>\d{{1,4}})\]:",
        _local_rank,
        whole_line=False,
    ),
    _wrapper(rf"\[(?P<host>{_NAME}|{_IP}):(?P<local>\d{{1,4}})\]:", _local_rank, whole_line=False),
    _wrapper(r"\[(?P<task>\d{1,6})\]: ?(?=\S)", _task, whole_line=False),
    # Horovod: the rank and the stream, `[3]<stderr>:` (horovod/runner/gloo_run.py, 0.28).
    _wrapper(r"\[(?P<rank>\d{1,6})\]<std(?:out|err|diag)>: ?", _rank_on),
    # mpirun --tag-output, also as SageMaker prints it; Slurm's srun --label.
    _wrapper(
        r"\[(?:[\w.@-]{1,100}@)?\d+,(?P<task>\d{1,6})(?:,[\w.-]+)?\]<std(?:out|err|diag)>:",
        _task,
    ),
    _wrapper(
        r"\[\d+,mpirank:(?P<rank>\d{1,6})(?:,(?P<host>[\w.-]{1,120}))?\]<std(?:out|err|diag)>: ?",
        _rank_on,
    ),
    _wrapper(r" {0,6}(?P<task>\d{1,6}): (?! *\d+: )", _task),
    _wrapper(r"(?P<task>\d{1,6}):(?=\[(?:rank|[EWIF]))", _task),
    # kubectl, milabench, pdsh, Open MPI's own messages, compose.
    _wrapper(r"\[?pod/(?P<host>[\w.-]{1,120})(?:/[\w.-]{1,120})?\]? ", _host),
    _wrapper(rf"(?P<host>{_NAME}) \[(?:stderr|stdout)\] ?", _host),
    _wrapper(rf"(?P<host>{_IP}|{_NODE}): ?(?!\d)", _host),
    _wrapper(rf"(?P<host>(?!Exception|Error){_NAME}\d[\w.-]{{0,40}}): {_STRONG}", _host),
    _wrapper(rf"\[(?P<host>{_NAME}):(?P<pid>\d{{2,9}})\] (?=\*\*\*|\[ ?\d+\] |mca|PMIX)", _host),
    _wrapper(r"(?P<host>[a-z][\w.-]{0,80}-\d{1,4}) +\| (?=\S)", _host),
    _wrapper(rf"(?P<host>[\w.-]{{1,120}}) +\| {_STRONG}", _host),
    _wrapper(r"(?:stdout|stderr) [FP] ", _nothing),
    _wrapper(rf"\[\d{{1,9}}\] {_STRONG}", _nothing),
    _wrapper(r"\[[A-Za-z][\w .-]{0,40}\] (?=\d{4}-\d\d-\d\d )", _nothing),
    # Anybody's: fields in brackets, of which one names the rank, the process or the host.
    _wrapper(
        rf"(?P<open>[\[({{<])(?P<fields>"
        rf"(?=[^\[\](){{}}<>]{{0,120}}?\b(?i:{_SPEAKER})\s*[=:]\s*[\w.-])"
        r"[^\[\](){}<>\n]{3,160})[\])}>]:?[ \t]{0,4}",
        _fields,
        whole_line=False,
    ),
    _wrapper(
        r"(?P<fields>(?i:(?:global_?|local_?)?rank)\s*=\s*\d{1,6})(?!\s?(?:/|of)\s?\d)(?=[\s|:,;>-])"
        r"\s*[|:,;>-]?[ \t]{0,4}",
        _fields,
        whole_line=False,
    ),
    # A quotation: every line of a mail has it, indented ones too.
    Wrapper(re.compile(r"(?:> ?){1,3}(?!=)"), _nothing, whole_line=True, quotes=True),
    _wrapper(rf" {{0,8}}\| {_STRONG}", _nothing),
    _wrapper(r"(?:TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL) +(?=\[?\d{4}-\d\d-\d\d )", _nothing),
    _wrapper(rf"[ \t]{{1,16}}(?!\d\d:|  File|Traceback){_STRONG}", _nothing),
)
