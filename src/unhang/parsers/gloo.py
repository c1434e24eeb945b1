"""From Gloo's exceptions to what its pairs of sockets complain about.

Reads (torch 1.8 to 2.13)::

    [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms
        for recv operation to complete
    [.../pair.cc:553] Connection closed by peer [10.0.0.7]:28397. This is typically caused by …
    what():  [enforce fail at …/pair.cc:456] op.preamble.length <= op.nbytes. 2000 vs 500. …
    Gloo connectFullMesh failed with […/pair.cc:152] timed out connecting: SO_ERROR: Connection
        refused, remote=[127.0.0.1]:43001 (rank=8, size=16, local=[127.0.0.1])

Traps: a time-out names no peer, and an innocent rank of a chain fails too; "closed by peer" is
second-hand: somebody exited or timed out earlier.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, GlooFault, GlooProblem
from unhang.model.forms import patterns_of
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_PATTERNS = patterns_of(GlooProblem, "unhang.parsers", "data/gloo.toml")
_REMOTE = re.compile(r"remote=\[?([0-9A-Fa-f.:]{2,80}?)\]?:\d{1,5}|connect\s*\[([^\]]{2,80})\]")
_LOCAL = re.compile(r"local=\[?([0-9A-Fa-f.:]{2,80}?)[\]),\s]")
_WHO = re.compile(r"rank=(?P<rank>\d{1,9}),\s*size=(?P<size>\d{1,9})")


class GlooParser(LineParser, name="gloo"):
    """Parser of Gloo's errors."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the first trouble of each kind, except echoes inside a connect failure."""
        for problem, pattern in _PATTERNS:
            match = line.says(pattern, within=True)
            if match is not None:
                yield _fault(line, problem, match)
                if problem is GlooProblem.CONNECT_FAILED:
                    return


def _fault(line: Line, problem: GlooProblem, match: re.Match[str]) -> GlooFault:
    tail = line.text[match.start() :]
    told = match.groupdict()
    remote, local = told.get("remote"), None
    if problem is GlooProblem.CONNECT_FAILED:
        found = _REMOTE.search(tail)
        remote = None if found is None else found[1] or found[2]
        found = _LOCAL.search(tail)
        local = None if found is None else found[1]
        if remote is not None and _is_loopback(remote) and (local is None or _is_loopback(local)):
            problem = GlooProblem.LOOPBACK
    who = _WHO.search(tail)
    limit = told.get("limit")
    return GlooFault(
        **place(line),
        problem=problem,
        local=local,
        remote=remote,
        timeout_ms=None if limit is None else int(limit),
        rank=line.origin.rank if who is None else Rank(int(who["rank"])),
        size=None if who is None else int(who["size"]),
        detail=told.get("detail") or "",
    )


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"
