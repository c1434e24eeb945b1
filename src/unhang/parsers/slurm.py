"""From srun, slurmstepd and other batch systems to ended tasks and stops from outside.

Reads::

    srun: error: node07: task 3: Killed
    srun: error: node07: tasks 0-3,5: Exited with exit code 1
    slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have …
    slurmstepd: error: *** STEP 4711.0 ON node07 CANCELLED AT 2026-05-01T05:42:27 DUE TO
        TIME LIMIT ***
    =>> PBS: job killed: walltime 86431 exceeded limit 86400

Traps: `slurmstepd: error:` alone is no failure (`_is_a_lwp: open() /proc/…/status failed` comes in
the middle of healthy training); a step is also cancelled *because* one of its tasks failed; a
task is a rank only with one task for each GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import ClosingSignal, Event, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.time import local_instant
from unhang.parsers.base import LineParser, place, place_on
from unhang.parsers.vocabulary import flux
from unhang.parsers.vocabulary.signals import signal_number, split_exit
from unhang.sources.line import Line

_TASKS = re.compile(
    r"srun: error:\s*(?P<host>[\w.,\[\]-]{1,400}):\s*tasks?\s+(?P<tasks>\d[\d,-]{0,400}):\s*"
    r"(?:Exited with exit code (?P<code>\d{1,9})|(?P<word>[A-Z][\w ]{2,40}?))\s*"
    r"(?:\(core dumped\)|\(exit status\)|$|[.,;\r])"
)
_OOM = re.compile(r"Detected \d+ oom[-_ ]kill event", re.IGNORECASE)
_CANCELLED = re.compile(
    r"\*\*\* (?:JOB|STEP) (?P<job>[\w.+]{1,60}) ON (?P<host>[\w.\[\],-]{1,400}) "
    r"(?:CANCELLED|FAILED|TERMINATED)(?: AT (?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d))?"
    r"(?P<why>[^*]{0,120})\*\*\*"
)
_NODE = re.compile(
    r"srun: error: Node failure on (?P<failed>[\w.-]{1,200})?"
    r"|srun: error: Aborting, io error and missing step"
    r"|error: Nodes? (?P<silent>[\w.,\[\]-]{1,400}) (?:(?:are|is|went) )?(?:no longer|not) respond"
)
_REVOKED = re.compile(r"Job allocation \d+ has been revoked")
_CTRL_C = re.compile(r"srun: sending Ctrl-C to|srun: interrupt \(one more within")
_PBS = re.compile(r"=>> PBS: job killed: (?P<what>\w+)[^\n]{0,120}?exceeded")
_FLUX = re.compile(
    r"(?:\S{0,40}: )?(?:\S{1,20} )?exception: type=(?P<what>timeout|cancel|preempt) severity=0\b"
)
_LSF = re.compile(r"\bTERM_(?P<what>RUNLIMIT|MEMLIMIT|OWNER|ADMIN|PREEMPT)\b")

_MOST_TASKS = 4096
_OUT_OF_MEMORY = frozenset({"out of memory", "oom killed"})


class SlurmParser(LineParser, name="slurm"):
    """Parser of batch systems."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which tasks ended and who stopped the job."""
        for match in line.sayings(_TASKS):
            yield from _tasks(line, match)
        if line.says(_OOM, within=True):
            yield ProcessEnded(**place(line), reporter=Reporter.SLURM, signal=9, oom=True)
        for match in line.sayings(_CANCELLED):
            fields = place(line)
            fields["at"] = local_instant(match["time"] or "") or line.at
            yield StopSeen(**fields, kind=_why(match["why"]))
        lost = line.says(_NODE, within=True)
        if lost is not None:
            yield StopSeen(
                **place_on(line, lost["failed"] or lost["silent"]), kind=StopKind.NODE_FAILED
            )
        if line.says(_CTRL_C):
            yield StopSeen(**place(line), kind=StopKind.INTERRUPT)
        if line.says(_REVOKED, within=True):
            yield StopSeen(**place(line), kind=StopKind.CANCELLED)
        yield from _other_batch_systems(line)


def _tasks(line: Line, match: re.Match[str]) -> Iterator[Event]:
    """One event for each task of `tasks 0-3,5: Killed`."""
    word = (match["word"] or "").strip().lower()
    oom = word in _OUT_OF_MEMORY
    if match["code"] is not None:
        number, exit_code = split_exit(int(match["code"]))
    else:
        number, exit_code = (9 if oom else signal_number(word)), None
    if number is None and exit_code is None:
        return
    host = None if "[" in match["host"] or "," in match["host"] else match["host"]
    for task in _expand(match["tasks"]):
        if number in (1, 2, 15):
            yield ClosingSignal(**place(line), pid=None, task=task, host=host, signal=number)
            continue
        yield ProcessEnded(
            **place(line),
            reporter=Reporter.SLURM,
            task=task,
            host=host,
            signal=number,
            exit_code=exit_code,
            oom=oom,
        )


def _expand(text: str) -> list[int]:
    """Task numbers of `0-3,5`; nonsense gives what can be read of it.

    >>> _expand("0-3,5")
    [0, 1, 2, 3, 5]
    """
    tasks: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or len(first) > 7 or (last and not last.isdigit()):
            continue
        end = min(int(last[:7] or first), int(first) + _MOST_TASKS)
        tasks.extend(range(int(first), end + 1))
    return tasks[:_MOST_TASKS]


def _why(text: str) -> StopKind:
    """The reason that follows `CANCELLED AT …`."""
    reason = text.upper()
    if "TIME LIMIT" in reason:
        return StopKind.TIME_LIMIT
    if "PREEMPT" in reason or "REQUEUE" in reason:
        return StopKind.PREEMPTED
    if "NODE FAIL" in reason:
        return StopKind.NODE_FAILED
    return StopKind.CANCELLED


def _other_batch_systems(line: Line) -> Iterator[Event]:
    pbs, lsf = line.says(_PBS), line.says(_LSF, within=True)
    memory = (pbs is not None and "mem" in pbs["what"].lower()) or (
        lsf is not None and lsf["what"] == "MEMLIMIT"
    )
    if memory:
        yield ProcessEnded(**place(line), reporter=Reporter.SHELL, signal=9, oom=True)
    for match in line.sayings(_FLUX):
        kind = flux.kind_of(match["what"])
        yield StopSeen(**place(line), kind=kind)
    if memory:
        return
    if pbs is not None:
        yield StopSeen(**place(line), kind=StopKind.TIME_LIMIT)
    elif lsf is not None:
        kinds = {"RUNLIMIT": StopKind.TIME_LIMIT, "PREEMPT": StopKind.PREEMPTED}
        yield StopSeen(**place(line), kind=kinds.get(lsf["what"], StopKind.CANCELLED))
