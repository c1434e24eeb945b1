"""From the lines above a stack to the process whose stack it is.

Knows py-spy's `Process 4711: python3 train.py --local_rank=2`, the section heads of torch's debug
server (`=== Rank 3: http://… ===`), of `tail` and `head` (`==> stacks/rank3.txt <==`), and those
that people write between stacks (`--- rank 3 (pid 4711) ---`, `# rank 3`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.sources.hints import origin_of

NEEDLES = ("Process ", "==> ", "=== ", "== r", "== R", "-- r", "-- R", "# r", "# R")

_PROCESS = re.compile(r"\bProcess (?P<pid>\d{1,10}): (?P<command>.{0,4000})")
_FILE = re.compile(r"^\s*==> (?P<path>.{1,500}) <==\s*$")
_SECTION = re.compile(
    r"^\s*[=#*\[<(>-]{1,60}\s*(?:stacks? (?:of|for) )?(?P<local>local[ _-]?)?rank[ _=:#-]{0,3}"
    r"(?P<rank>\d{1,6})\b(?P<rest>.{0,200})$",
    re.IGNORECASE,
)
_MARKS = frozenset("=#*[<(>-")
_PID = re.compile(r"\bpid[ =:]{1,2}(?P<pid>\d{1,10})", re.IGNORECASE)
_RANK = re.compile(r"(?:--(?:node[-_])?rank[ =]|\bRANK=)(?P<rank>\d{1,6})\b")
_LOCAL_RANK = re.compile(r"(?:--local[-_]rank[ =]|\bLOCAL_RANK=)(?P<local>\d{1,4})\b")


def owner_of(text: str, known: Origin) -> Origin | None:
    """The process that a head line names, added to what is `known` of the file; None if it is none.

    >>> owner_of("=== Rank 3: http://10.0.0.7:4711 ===", Origin()).rank
    3
    """
    process = _PROCESS.search(text) if "Process " in text else None
    if process is not None:
        return _of_command(replace(known, pid=int(process["pid"])), process["command"])
    if text.lstrip()[:1] not in _MARKS:
        return None
    file = _FILE.match(text)
    if file is not None:
        told = origin_of(file["path"])
        return replace(
            known,
            rank=known.rank if told.rank is None else told.rank,
            local_rank=known.local_rank if told.local_rank is None else told.local_rank,
            host=told.host or known.host,
            pid=told.pid,
        )
    section = _SECTION.match(text)
    if section is None:
        return None
    pid = _PID.search(section["rest"])
    owner = replace(known, pid=None if pid is None else int(pid["pid"]))
    number = int(section["rank"])
    if section["local"] is not None:
        return replace(owner, rank=known.rank, local_rank=LocalRank(number))
    return replace(owner, rank=Rank(number))


def _of_command(owner: Origin, command: str) -> Origin:
    """What a command line tells; `--node-rank` counts nodes."""
    rank, local = _RANK.search(command), _LOCAL_RANK.search(command)
    if rank is not None and "node" not in rank[0]:
        owner = replace(owner, rank=Rank(int(rank["rank"])))
    if local is not None:
        owner = replace(owner, local_rank=LocalRank(int(local["local"])))
    return owner
