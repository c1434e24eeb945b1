"""From DeepSpeed, Composer, MPI and plain parent scripts to the processes that ended.

Reads::

    [launch.py:319:sigkill_handler] Killing subprocess 411195
    [launch.py:325:sigkill_handler] ['python', '-u', 'train.py', …] exits with return code = -9
    ERROR:composer.cli.launcher:Rank 2 crashed with exit code -11.
    Global rank 2 (PID 4711) exited with code -11
    subprocess.CalledProcessError: Command '['python', …]' died with <Signals.SIGKILL: 9>.
    mpirun noticed that process rank 5 with PID 4711 on node gpu07 exited on signal 9 (Killed).
    MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD … with errorcode 1.

Traps: `Killing subprocess` lists all children, dead or alive, in the order of their local ranks;
`--local_rank=7` in DeepSpeed's report is merely the last child it started, so that the list is
whole with eight of them (deepspeed/launcher/launch.py, `sigkill_handler`, 0.5 to 0.19); mpirun
names the first process that it noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import (
    ClosingSignal,
    Event,
    ProcessEnded,
    Reporter,
    StopKind,
    StopSeen,
    WorldSeen,
)
from unhang.model.forms import named
from unhang.model.ids import LocalRank, Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.signals import signal_number, split_exit
from unhang.sources.line import Line

_KILLING = re.compile(r"Killing subprocess (?P<pid>\d{1,10})")
_LAST_CHILD = re.compile(r"--local[_-]rank=(?P<local>\d{1,3})\b")
_PATTERNS = named("unhang.parsers", "data/launchers.toml")
_RETURN_CODE = _PATTERNS["return_code"]
_COMPOSER = _PATTERNS["composer"]
_ENDED = _PATTERNS["ended"]
_FIELDED = _PATTERNS["fielded"]
"""A parent that logs fields: `process was signaled to shutdown with signal 11 rank=3`."""
_LOST = _PATTERNS["lost"]
_NOTICED = _PATTERNS["noticed"]
"""`jsrun` of LSF on Power systems."""
_ALSO_RANK = re.compile(r"\b[Rr]ank\W{0,2}(\d{1,7})\b")
_MOST_WORDS = 4
"""Words in front of who ended: a parent says what it did; more of them is somebody's prose."""
_BY_SIGNAL = re.compile(r"(?:signal|by)[ :=#(]{0,3}$")
_MOST_RANKS = 1 << 20
_PID_FROM = 512
"""A number from here on is a process id, where a text says "process N"."""
_SSH = _PATTERNS["ssh"]
_MAIN_SIGNAL = re.compile(r"[Mm]ain process received (?P<signal>SIG\w+), exiting")
_COMMAND = _PATTERNS["command"]
_TOLD = _PATTERNS["told"]
"""A client that waited for the job raises what its service told it."""
_MPI_SIGNAL = _PATTERNS["mpi_signal"]
_MPI_ABORT = re.compile(r"MPI_ABORT was invoked on rank (?P<task>\d{1,7})\b")
_MPI_ERRORCODE = re.compile(r"with errorcode (?P<code>-?\d{1,9})")
_MPI_NAME = re.compile(r"Process name:\s*\[\[[\d,]+\],\s*(?P<task>\d{1,7})\]")
_MPI_CODE = re.compile(r"Exit code:\s*(?P<code>-?\d{1,9})")
_HYDRA = _PATTERNS["hydra"]
_HYDRA_CODE = re.compile(r"=\s+(?:EXIT CODE|KILLED BY SIGNAL|EXIT STATUS):\s*(?P<code>-?\d{1,9})")
_ORTE_LOST = _PATTERNS["orte_lost"]
_STOPS = {"SIGINT": StopKind.INTERRUPT, "SIGTERM": StopKind.TERMINATED, "SIGHUP": StopKind.HANGUP}


class LaunchersParser(LineParser, name="launchers", after=4):
    """Parser of launchers that are neither torchrun nor a scheduler."""

    def __init__(self) -> None:
        self._open: ProcessEnded | None = None
        self._children: dict[str | None, dict[int, None]] = defaultdict(dict)

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which process ended how; MPI's reports span lines."""
        yield from _single(line)
        yield from self._counted(line)
        yield from self._spanning(line)

    def finish(self) -> Iterator[Event]:
        """Say a report whose exit code never came."""
        if self._open is not None:
            yield self._open
            self._open = None

    def _counted(self, line: Line) -> Iterator[Event]:
        """The local ranks of the children that DeepSpeed's launcher lists, where it lists all."""
        for match in line.sayings(_KILLING):
            self._children[line.origin.host][int(match["pid"])] = None
        if line.says(_RETURN_CODE, within=True) is None:
            return
        last, pids = _LAST_CHILD.search(line.raw), self._children.pop(line.origin.host, {})
        if last is not None and len(pids) == int(last["local"]) + 1:
            at = place(_of_launcher(line))
            for local, pid in enumerate(pids):
                yield WorldSeen(**at, listed=True, local_rank=LocalRank(local), pid=pid)

    def _spanning(self, line: Line) -> Iterator[Event]:
        """Reports that name the process first and its exit code some lines later."""
        opened = line.says(_MPI_ABORT) or line.says(_MPI_NAME) or line.says(_HYDRA)
        if opened is not None:
            yield from self.finish()
            named = opened.groupdict()
            pid, host, task = named.get("pid"), named.get("host"), named.get("task")
            self._open = ProcessEnded(
                **place(line),
                reporter=Reporter.MPI,
                task=None if task is None else int(task),
                pid=None if pid is None else int(pid),
                host=host,
                exit_code=1,
                reported_first=True,
            )
        code = (
            line.says(_MPI_ERRORCODE, within=True) or line.says(_MPI_CODE) or line.says(_HYDRA_CODE)
        )
        if self._open is None or code is None:
            return
        number, exit_code = _hydra_exit(int(code["code"]), self._open)
        opened_event, self._open = self._open, None
        yield ProcessEnded(
            source=opened_event.source,
            origin=opened_event.origin,
            at=opened_event.at,
            reporter=Reporter.MPI,
            task=opened_event.task,
            pid=opened_event.pid,
            host=opened_event.host,
            signal=number,
            exit_code=exit_code,
            reported_first=True,
        )


def _hydra_exit(code: int, opened: ProcessEnded) -> tuple[int | None, int | None]:
    """MPICH prints a bare signal number as exit code (`EXIT CODE: 9`, `KILLED BY SIGNAL: 9`)."""
    if opened.pid is not None and code in (4, 6, 7, 8, 9, 11, 15):
        return code, None
    return split_exit(code)


def _single(line: Line) -> Iterator[Event]:
    """Reports of one line."""
    for match in line.sayings(_KILLING):
        yield ClosingSignal(**place(line), pid=int(match["pid"]), signal=15)
    for match in line.sayings(_RETURN_CODE, within=True):
        number, exit_code = split_exit(int(match["code"]))
        at = place(_of_launcher(line))
        yield ProcessEnded(**at, reporter=Reporter.DEEPSPEED, signal=number, exit_code=exit_code)
    for match in line.sayings(_COMPOSER):
        number, exit_code = split_exit(int(match["code"]))
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.COMPOSER,
            rank=Rank(int(match["rank"])),
            pid=None if match["pid"] is None else int(match["pid"]),
            signal=number,
            exit_code=exit_code,
        )
    yield from _in_other_words(line)
    for match in line.sayings(_SSH):
        number, exit_code = split_exit(int(match["code"]))
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.DEEPSPEED,
            host=match["host"],
            signal=number,
            exit_code=exit_code,
        )
    stopped = line.says(_MAIN_SIGNAL, within=True)
    if stopped is not None and stopped["signal"] in _STOPS:
        yield StopSeen(**place(line), kind=_STOPS[stopped["signal"]])
    yield from _commands(line)


def _in_other_words(line: Line) -> Iterator[Event]:
    """Ends of one process as parents of any make log them."""
    if not any(line.sayings(_COMPOSER)) and "DataLoader" not in line.text:
        for match in line.sayings(_ENDED, within=True):
            if len(line.text[: match.start()].split()) <= _MOST_WORDS:
                yield from _in_any_wording(line, match)
    for match in line.sayings(_FIELDED, within=True):
        if (how := _how(line, match)) is not None:
            yield ProcessEnded(
                **place(line),
                reporter=Reporter.SHELL,
                rank=Rank(int(match["rank"])),
                signal=how[0],
                exit_code=how[1],
            )
    if "DataLoader" not in line.text:
        for match in line.sayings(_LOST, within=True):
            if len(line.text[: match.start()].split()) > _MOST_WORDS:
                continue
            number, is_rank = int(match["number"]), (match["rank"] or match["global"]) is not None
            pid = match["pid"] or (None if is_rank or number < _PID_FROM else number)
            yield ProcessEnded(
                **place(line),
                reporter=Reporter.SHELL,
                rank=Rank(number) if is_rank else None,
                local_rank=None if is_rank or number >= _PID_FROM else LocalRank(number),
                pid=None if pid is None else int(pid),
                exit_code=1,
            )


def _of_launcher(line: Line) -> Line:
    """The line as nobody's: the local rank in the command that it shows is the last child's."""
    return replace(line, origin=replace(line.origin, local_rank=None))


def _in_any_wording(line: Line, match: re.Match[str]) -> Iterator[Event]:
    """`worker 3 died with exit code 1`, `Process 7 was killed by SIGKILL`, whoever words it."""
    if (how := _how(line, match)) is None:
        return
    number, exit_code = how
    who, index = match["who"].lower(), int(match["number"])
    rank = Rank(index) if who.endswith(("rank", "r")) and who != "worker" else None
    rank = rank if index < _MOST_RANKS else None
    also = _ALSO_RANK.search(match["also"] or "")
    if rank is None and also is not None:
        rank = Rank(int(also[1]))
    process = who in {"process", "child", "child process", "subprocess"}
    pid = index if process and index >= _PID_FROM else None
    local = rank is None and pid is None and who != "task" and index < _PID_FROM
    yield ProcessEnded(
        **place(line),
        reporter=Reporter.SHELL,
        rank=rank,
        local_rank=LocalRank(index) if local else None,
        task=index if who == "task" and index < _MOST_RANKS else None,
        pid=int(match["pid"]) if match["pid"] else pid,
        signal=number,
        exit_code=exit_code,
    )


_SIGNALS = 65


def _how(line: Line, match: re.Match[str]) -> tuple[int | None, int | None] | None:
    """Signal and exit code of an end; None where it was a good one, or no process ends so."""
    text = match["code"]
    if text.lstrip("-").isdigit():
        by_signal = _BY_SIGNAL.search(line.text[: match.start("code")]) is not None
        number, exit_code = (abs(int(text)), None) if by_signal else split_exit(int(text))
    else:
        number, exit_code = signal_number(text), None
    good = (number is None or number >= _SIGNALS) and not exit_code
    return None if good else (number, exit_code)


def _commands(line: Line) -> Iterator[Event]:
    """Parents that started one command, clients of a job, and mpirun's notice of a signal."""
    command = line.says(_COMMAND, within=True) if "CalledProcessError" in line.text else None
    ended = command or _TOLD.match(line.text)
    if ended is not None:
        signal = ended.groupdict().get("signal")
        number, exit_code = (
            split_exit(int(ended["code"])) if signal is None else (signal_number(signal), None)
        )
        yield ProcessEnded(
            **place(line), reporter=Reporter.SHELL, signal=number, exit_code=exit_code
        )
    for match in line.sayings(_NOTICED):
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.MPI,
            task=int(match["rank"]),
            signal=None if match["signal"] is None else int(match["signal"]),
            exit_code=None if match["code"] is None else int(match["code"]),
            reported_first=True,
        )
    for match in line.sayings(_MPI_SIGNAL):
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.MPI,
            task=int(match["task"]),
            pid=int(match["pid"]),
            host=match["host"],
            signal=int(match["signal"]),
            reported_first=True,
        )
    if line.says(_ORTE_LOST):
        yield StopSeen(**place(line), kind=StopKind.NODE_FAILED)
