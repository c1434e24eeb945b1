"""From the lines above a stack to the process whose stack it is.

Knows py-spy's `Process 4711: python3 train.py --local_rank=2`, the section heads of torch's debug
server (`=== Rank 3: http://… ===`), of `tail` and `head` (`==> stacks/rank3.txt <==`), those that
people write between stacks (`--- rank 3 (pid 4711) ---`, `# rank 3`) or behind a command, and
whatever names a rank beside the tool that took the stack (`py-spy dump --pid 4711  (local rank 2)`,
`stack of rank 3:`).
"""

from __future__ import annotations

from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.ids import LocalRank, Rank
from unhang.model.provenance import Origin
from unhang.sources.hints import origin_of

NEEDLES = (
    *("Process ", "==> ", "=== ", "== r", "== R", "-- r", "-- R", "# r", "# R"),
    *("py-spy", "pystack", "stack of rank", "stack rank", "Stack of rank"),
)

_PROCESS = re.compile(r"\bProcess (?P<pid>\d{1,10}): (?P<command>.{0,4000})")
_FILE = re.compile(r"^\s*==> (?P<path>.{1,500}) <==\s*$")
_SECTION = re.compile(
    r"^\s*[=#*\[<(>-]{1,60}\s*(?:stacks? (?:of|for) )?(?P<local>local[ _-]?)?rank[ _=:#-]{0,3}"
    r"(?P<rank>\d{1,6})\b(?P<rest>.{0,200})$",
    re.IGNORECASE,
)
_TOOL = re.compile(
    r"\b(?:py-spy|pystack|gdb|faulthandler|stacks? (?:of|for|rank))\b", re.IGNORECASE
)
_ALL_RANKS = re.compile(
    r"(?<![\w-])(?P<local>local[ _-]?)?(?:global[ _-]?)?rank[ _=:#-]{0,3}(?P<rank>\d{1,6})\b"
    r"(?!\s?(?:/|of|to|-|\.\.)\s?\d)",
    re.IGNORECASE,
)
_DUMPED = re.compile(r"(?:--pid|\bpid|(?<=\s)-p)[ =:]{1,2}(?P<pid>\d{1,10})")
_NOTE = re.compile(r"\s(?:#|//|<-+|\((?=[^()]*\)\s*$)).{0,120}$")
"""Behind a command, where people note whose process it is: `# rank 3`, `(worker of rank 3)`."""
_LONGEST = 200
_MARKS = frozenset("=#*[<(>-")
_PID = re.compile(r"\bpid[ =:]{1,2}(?P<pid>\d{1,10})", re.IGNORECASE)
_RANK = re.compile(r"(?:(?<!\S)--?(?:node[-_])?rank[ =]|\bRANK=)(?P<rank>\d{1,6})\b")
_LOCAL_RANK = re.compile(r"(?:(?<!\S)--?local[-_]rank[ =]|\bLOCAL_RANK=)(?P<local>\d{1,4})\b")

_NUMBER = re.compile(r"\d+")
_SMALL = re.compile(r"(?<!\d)(?<!\d\.)\d{1,4}(?![\d.]*\d)")
_MOST_MARKS = 12
_RUNTIME = re.compile(
    r"py|\?\?|torch|[nrh]ccl|gloo|mpi|uc[cx]|cuda|\bcu[A-Z]|hip|xla|jax|acl|at::|c10|conda",
    re.IGNORECASE,
)
"""What is in the name of a thread, a library or a function of any process that trains; a debugger
says `??` where it does not know."""


def trains(text: str) -> bool:
    """Whether a thread, a frame or a library is one that a process that trains may have.

    >>> trains("#1 0x7f in ncclGroupEnd ()"), trains("#1 0x7f in BLI_task_pool ()")
    (True, False)
    """
    return _RUNTIME.search(text) is not None


def owner_of(text: str, known: Origin) -> Origin | None:
    """The process that a head line names, added to what is `known` of the file; None if it is none.

    >>> owner_of("=== Rank 3: http://10.0.0.7:4711 ===", Origin()).rank
    3
    """
    process = _PROCESS.search(text) if "Process " in text else None
    if process is not None:
        return _of_command(replace(known, pid=int(process["pid"])), process["command"])
    if text.lstrip()[:1] not in _MARKS:
        return _beside_tool(text, known)
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
        return _beside_tool(text, known)
    pid = _PID.search(section["rest"])
    owner = replace(known, pid=None if pid is None else int(pid["pid"]))
    number = int(section["rank"])
    if section["local"] is not None:
        return replace(owner, rank=known.rank, local_rank=LocalRank(number))
    return replace(owner, rank=Rank(number))


def marks_of(text: str) -> tuple[tuple[str, int], ...]:
    """Each small number of a head line, with the rest of the line: one of them may count processes.

    >>> marks_of("== 3 ==")
    (('0:== # ==', 3),)
    """
    text = " ".join(text[:_LONGEST].split())
    found = []
    for place, number in enumerate(_SMALL.finditer(text)):
        rest = _NUMBER.sub("#", text[: number.start()]), _NUMBER.sub("#", text[number.end() :])
        found.append((f"{place}:{rest[0]}#{rest[1]}", int(number[0])))
    return tuple(found[:_MOST_MARKS])


def under(head: Origin | None, owner: Origin) -> Origin:
    """`owner` with the rank of the head line right above it, where both are of one process."""
    if head is None or owner.rank is not None or owner.local_rank is not None:
        return owner
    if owner.pid is None or head.pid not in (None, owner.pid):
        return owner
    return replace(owner, rank=head.rank, local_rank=head.local_rank)


def _beside_tool(text: str, known: Origin) -> Origin | None:
    """Whom a line names that tells of the tool; None where it names nobody, or several."""
    if len(text) > _LONGEST or _TOOL.search(text) is None:
        return None
    named = list(_ALL_RANKS.finditer(text))
    ranks = {int(n["rank"]) for n in named if n["local"] is None}
    locals_ = {int(n["rank"]) for n in named if n["local"] is not None}
    if not named or len(ranks) > 1 or len(locals_) > 1:
        return None
    pid = _DUMPED.search(text)
    return replace(
        known,
        rank=Rank(ranks.pop()) if ranks else known.rank,
        local_rank=LocalRank(locals_.pop()) if locals_ else known.local_rank,
        pid=None if pid is None else int(pid["pid"]),
    )


def _of_command(owner: Origin, command: str) -> Origin:
    """What a command line tells, and what somebody wrote behind it; `--node-rank` counts nodes."""
    noted = _NOTE.search(command)
    if noted is not None and len(named := list(_ALL_RANKS.finditer(noted[0]))) == 1:
        number = int(named[0]["rank"])
        if named[0]["local"] is not None:
            return replace(owner, local_rank=LocalRank(number))
        return replace(owner, rank=Rank(number))
    rank, local = _RANK.search(command), _LOCAL_RANK.search(command)
    if rank is not None and "node" not in rank[0]:
        owner = replace(owner, rank=Rank(int(rank["rank"])))
    if local is not None:
        owner = replace(owner, local_rank=LocalRank(int(local["local"])))
    return owner
