"""From tables and lists that go through the ranks to who ended how, and who did not answer.

Launchers, supervisors and the programs' own watchers print these in as many forms as there are
programs. What they have in common is read: a column or a key of ranks beside one of exits, a list
of exits counted by rank, a sentence in which ranks did not come::

    rank | host  | exit code          exit codes by rank: [0, 0, -9, 0]
    0    | gpu01 | 0                  returncodes = {0: 0, 1: 1, 2: -6}
    3    | gpu02 | -9                 no heartbeat from rank 3 for 120 s
                                      ranks [2, 5] did not check in; missing ranks: 2, 5
    [rank3]: … recv from rank 2 timed out
    /job:jax_worker/replica:0/task:37 heartbeat timeout.
    … tasks are unhealthy (stopped sending heartbeats): or: … timed out task names:
    /job:jax_worker/replica:0/task:1

The last two are of XLA's coordination service (`coordination_service.cc` of OpenXLA, read 2026-11);
a task is a process of JAX, counted as JAX counts them.

Traps: a code of 0, and words such as `running`, are no ends; a table of losses has a column of
ranks too; who is waited for in a sentence need not be guilty, so that a rule weighs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from unhang import lazy_re as re
from unhang.model.events import BarrierMissing, Event, ProcessEnded, Reporter, Waiter
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank, Ranks
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.signals import signal_number, split_exit
from unhang.sources.line import Line

_SPLIT = re.compile(r"\s*[|│┃,\t]\s*|\s{2,}")
_RULE = re.compile(r"[-=+|│┃─━┼┬┴ ]{3,}$")
_AXES: Mapping[str, str] = {
    **dict.fromkeys(("rank", "global rank", "global_rank"), "rank"),
    **dict.fromkeys(("local rank", "local_rank", "lrank"), "local_rank"),
    **dict.fromkeys(("task", "task id", "taskid", "procid"), "task"),
}
_EXITS = frozenset(
    {
        *("exit", "exit code", "exitcode", "exit_code", "exit status", "return code", "returncode"),
        *("return_code", "rc", "signal", "status", "exit_status", "ended", "end", "result"),
    }
)
_HOSTS = frozenset({"host", "hostname", "node", "node name"})
_PATTERNS = named("unhang.parsers", "data/roll_call.toml")
_CODE = _PATTERNS["code"]
_LIST = _PATTERNS["list"]
_ENTRY = re.compile(r"'?(\d{1,6})'?: ?(-?\d{1,3})")
_RANKS = r"[\[({]?(?P<%s>\d{1,6}(?:(?:\s?[,-]\s?|\s?,?\s?and\s)\d{1,6}){0,4095})[\])}]?"
_MISSING = re.compile(
    r"\b(?:missing|absent|unresponsive|silent|not[ -]responding|lost)\sranks?(?: ids?)?\s?[:=]\s?"
    + _RANKS % "listed"
    + r"|\bno\s(?:heartbeat|response|answer|reply|report|progress|signal|message)s?\s"
    r"(?:was\s|has\s)?(?:received\s|been\s|come\s|seen\s)?(?:from|by|of)\s(?:global\s)?ranks?\s?"
    + _RANKS % "quiet"
    + r"|\branks?\s?"
    + _RANKS % "failing"
    + r"\s(?:\([^()]{1,60}\)\s)?"
    r"(?:did\snot|didn'?t|ha(?:s|ve)\snot|never|failed\sto|(?:is|are)\snot)\s(?:yet\s)?"
    r"(?:check(?:ed|ing)?[ -]in|join|arriv|respon[ds]|reach|report|show(?:n|ed)?[ ]up|answer|enter"
    r"|sen[dt](?:ing)?\b.{0,12}beat)",
    re.IGNORECASE,
)
_SENDER = re.compile(
    r"\b(?:i?recv|receiv(?:e|ing)|wait(?:ing|ed)?|(?:data|message|tensor|activation|gradient)s?)\b"
    r"[^.;]{0,40}?\b(?:from|for|of|by)\s(?:the\s)?(?:peer|source|remote|global|sender|stage)?\s?"
    r"(?:(?:rank|peer|src|source)[ =:#]{1,2}|(?<=peer )|(?<=stage ))(?P<peer>\d{1,6})\b"
    r"|\b(?:i?recv|receive)\([^()]{0,40}\b(?:src|source|peer)=(?P<source>\d{1,6})\b",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(r"timed? ?-?out|timeout|deadline|gave up|giving up|expired", re.IGNORECASE)
_TASK = re.compile(r"/job:\w{0,20}worker/replica:\d{1,4}/task:(?P<task>\d{1,6})\b")
_NO_BEAT = re.compile(
    r"(?:/job:\S{1,100} has been set to ERROR in coordination service: )?"
    r"(?:[A-Z_]{8,30}: )?(?:Task )?" + _TASK.pattern + r"\s*heartbeat timeout"
)
_TASKS_LOST = re.compile(
    r"(?:(?-i:Terminating process because the|[A-Z_]{8,30}:) .{0,600}?)?"
    r"(?:\(stopped sending heartbeats\)|timed out task names):",
    re.IGNORECASE,
)
_BARRIER = re.compile(r"monitoredBarrier|watchdog", re.IGNORECASE)
_ABOUT = ("heartbeat", "rank", "task", "exit", "return", "peer", "stage", "src=")
_MOST_ROWS = 4096
_SIGNALS = 65


class RollCallParser(LineParser, name="roll-call", after=24, sampled=True):
    """Parser of tables and lists of ranks."""

    def __init__(self) -> None:
        self._columns: list[str] | None = None
        self._rows = 0
        self._lost: Line | None = None
        self._tasks: set[Rank] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say who ended, and who is reported missing."""
        if line.gap:
            self._columns = None
        low = line.text.lower()
        if self._lost is not None or "task" in low:
            yield from self._of_tasks(line)
        if self._columns is None and not any(word in low for word in _ABOUT):
            return
        listed = line.says(_LIST, within=True)
        if listed is not None:
            yield from _of_a_list(line, listed)
            return
        missing = line.says(_MISSING, within=True)
        if missing is not None and _BARRIER.search(line.text) is None:
            yield from _absent(line, missing)
        elif line.origin.rank is not None and _GAVE_UP.search(line.text) is not None:
            sender = _SENDER.search(line.text)
            if sender is not None and _BARRIER.search(line.text) is None:
                yield BarrierMissing(
                    **place(line),
                    reporter=line.origin.rank,
                    missing=frozenset({Rank(int(sender["peer"] or sender["source"]))}),
                    direct=True,
                    waiter=Waiter.RECEIVER,
                )
        yield from self._table(line)

    def finish(self) -> Iterator[Event]:
        """Say the tasks of a list that the artifact ends with."""
        if self._lost is not None and self._tasks:
            yield _watched(self._lost, frozenset(self._tasks))
        self._lost, self._tasks = None, set()

    def _of_tasks(self, line: Line) -> Iterator[Event]:
        """The tasks that a coordination service lost, named in its sentence or listed below it."""
        listed = _TASK.match(line.text.strip()) if self._lost is not None else None
        if listed is not None:
            self._tasks.add(Rank(int(listed["task"])))
            return
        yield from self.finish()
        if (silent := line.says(_NO_BEAT, within=True)) is not None:
            yield _watched(line, frozenset({Rank(int(silent["task"]))}))
        elif (head := line.says(_TASKS_LOST, within=True)) is not None:
            self._lost = line
            named = _TASK.finditer(line.text, head.end())
            self._tasks = {Rank(int(match["task"])) for match in named}

    def _table(self, line: Line) -> Iterator[ProcessEnded]:
        """The rows below a head with a column of ranks and one of exits."""
        if _RULE.fullmatch(line.text.strip()):
            return
        cells = [cell.strip() for cell in _SPLIT.split(line.text.strip().strip("|│┃").strip())]
        names = [cell.lower() for cell in cells]
        if any(n in _AXES for n in names) and any(n in _EXITS for n in names):
            self._columns, self._rows = names, 0
            return
        if self._columns is None:
            return
        self._rows += 1
        if len(cells) != len(self._columns) or self._rows > _MOST_ROWS:
            self._columns = None
            return
        row = dict(zip(self._columns, cells, strict=True))
        yield from _of_a_row(line, row)


def _of_a_row(line: Line, row: Mapping[str, str]) -> Iterator[ProcessEnded]:
    who = {axis: row[name] for name, axis in _AXES.items() if row.get(name, "").isdigit()}
    codes = [m["code"] for n in _EXITS if (m := _CODE.fullmatch(row.get(n, "")))]
    told = [end for code in codes if (end := _end(code)) is not None]
    if not who or not told or any(len(number) > 6 for number in who.values()):
        return
    number, exit_code = next((end for end in told if end[0] is not None), told[0])
    yield ProcessEnded(
        **place(line),
        reporter=Reporter.SHELL,
        rank=Rank(int(who["rank"])) if "rank" in who else None,
        local_rank=LocalRank(int(who["local_rank"])) if "local_rank" in who else None,
        task=int(who["task"]) if "task" in who else None,
        host=next((row[name] for name in _HOSTS if row.get(name)), None),
        signal=number,
        exit_code=exit_code,
    )


def _end(code: str) -> tuple[int | None, int | None] | None:
    """Signal and exit code; None for a good end and for what no process ends with."""
    if not code.lstrip("-").isdigit():
        number = signal_number(code)
        return None if number is None else (number, None)
    number, exit_code = split_exit(int(code))
    good = number is None and not exit_code
    return None if good or (number is not None and number >= _SIGNALS) else (number, exit_code)


def _of_a_list(line: Line, match: re.Match[str]) -> Iterator[ProcessEnded]:
    """A list in the order of ranks, or pairs of a rank and its code."""
    if match["row"] is not None:
        pairs = list(enumerate(re.findall(r"-?\d{1,3}", match["row"])))
    else:
        pairs = [(int(rank), code) for rank, code in _ENTRY.findall(match["map"])]
    axis = (match["axis"] or "").lower().replace(" ", "_")
    for index, code in pairs:
        end = _end(code)
        if end is not None:
            yield ProcessEnded(
                **place(line),
                reporter=Reporter.SHELL,
                rank=Rank(index) if axis == "rank" else None,
                local_rank=LocalRank(index) if axis == "local_rank" else None,
                task=index if axis not in {"rank", "local_rank"} else None,
                signal=end[0],
                exit_code=end[1],
            )


def _absent(line: Line, match: re.Match[str]) -> Iterator[BarrierMissing]:
    ranks = _ranks(match["listed"] or match["quiet"] or match["failing"])
    if ranks:
        yield _watched(line, ranks)


def _watched(line: Line, ranks: Ranks) -> BarrierMissing:
    return BarrierMissing(
        **place(line),
        reporter=line.origin.rank,
        missing=ranks,
        direct=True,
        waiter=Waiter.WATCHER,
    )


def _ranks(text: str) -> Ranks:
    found: set[Rank] = set()
    for first, last in re.findall(r"(\d{1,6})(?:\s?-\s?(\d{1,6}))?", text):
        end = int(last or first)
        if int(first) <= end < int(first) + _MOST_ROWS:
            found.update(Rank(rank) for rank in range(int(first), end + 1))
    return frozenset(found)
