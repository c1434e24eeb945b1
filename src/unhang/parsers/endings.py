"""From success marks to good ends, and from start banners to further runs in one file.

Reads::

    :::MLLOG {… "key": "run_stop", … "metadata": {… "status": "success"}}
    `Trainer.fit` stopped: `max_epochs=10` reached.
    {'train_runtime': 812.4, 'train_samples_per_second': …}
    Job 'raysubmit_x' succeeded
    [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
    nohup: ignoring input

Traps: "Training complete" is the end of one rank's loop, not of the job: ranks that are still in
it hang from then on, so it does not speak for the job. Every node prints start
banners, so a banner begins a further run only after something has ended; marks that ranks print
to stdout are none, because a buffered stdout comes out after the traceback on stderr.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import Event, Finished, Restarted
from unhang.parsers.base import LineParser, needles, place
from unhang.sources.line import Line

_WHOLE_JOB = re.compile(
    r'"key": "run_stop".{0,400}"status": "success"|'
    r"\b(?:[Jj]ob|[Rr]un)\b(?: '?[\w./-]{1,80}'?)? (?:has )?(?:completed|finished|succeeded)"
    r"(?: successfully|\s*(?:\((?P<of>\d{1,6})/(?P=of)\))?[.!]?\s*$)|"
    r"\bState: COMPLETED \(exit code 0\)|\(WorkerState\.SUCCEEDED\)|"
    r"[Pp]rocess finished with exit code 0\b|[Jj]ob exited with (?:exit )?code 0\b|"
    r"[Tt]raining (?:completed|finished) successfully|"
    r"\] worker group successfully finished|\bAll workers successfully finished\b|"
    r"# Out of bounds values : 0 OK"
)
_WHO = ("workers", "processes", "ranks", "tasks", "replicas", "pods")
_DID = ("returned", "exited", "ended", "finished", "completed", "succeeded")
_ALL_WELL = re.compile(
    r"\b(?:all|both|(?P<n>\d{1,6})(?:/| of )(?P=n))(?: \d{1,6})? "
    rf"(?:{'|'.join(_WHO)}) (?:{'|'.join(_DID)})"
    r"(?:[ :=(]{1,2}(?:with|exit|code|status|rc)){0,4}"
    r"[ :=(]{1,2}(?:0\b|normally|cleanly|successfully)",
    re.IGNORECASE,
)
"""Whatever the launcher: all of them, and well."""
_STEP = re.compile(
    r"`?Trainer\.fit`? stopped: `?max_(?:epochs|steps|time)|'train_runtime':|"
    r"\b[Tt]raining (?:is )?(?:complete[d]?|finished|done)\b|\bTraining took \d|"
    r"Process \d{1,10} exits successfully|all_reduce_perf: Success|"
    r"\bFinished [Tt]raining\b|\bdone training in \d|\*{3,5} train metrics \*{3,5}|"
    r"^(?:\d{1,6}: ?)?RESULT,[A-Za-z_]{3,40},\d{0,9},\d+,|\[after training is done\]|"
    r"\[exiting program (?:after|at) (?:iteration )?\d|"
    r"\bOverall training speed:|"
    r"\b(?:Total training time:|Training time) *(?:\d+ days?, *)?\d+:\d\d:\d\d"
)
_BANNER = re.compile(
    r"nohup: ignoring input|"
    r"Setting OMP_NUM_THREADS environment variable for each process|"
    r"WORLD INFO DICT: \{|\bdist_world_size=\d|\bcmd = \S{1,200} -u -m deepspeed\.launcher|"
    r"STARTING TIMING RUN AT|"
    r"\bcalled-params \S|"
    r"srun: job \d+ (?:queued and waiting|has been allocated)|"
    r"The following values were not passed to `accelerate launch`"
)
_COMMANDS = ("bash", "sh", "python", "torchrun", "accelerate", "deepspeed", "mpirun", "srun", "./")
_PROMPT = re.compile(
    r"(?:[\w.-]{1,40}@[\w.-]{1,80}(?::\S{0,200}|\s\S{1,80}\])[#$%]|"
    r"^\s*(?:\([\w.-]{1,40}\)\s?)?\$|^\++)\s"
    r"(?:\s|[A-Z]\w{0,60}=\S{0,200}\s|sudo\s|nohup\s|time\s){0,8}"
    r"(?:(?:bash|sh|python[\d.]{0,5}|torchrun|accelerate|deepspeed|mpirun|srun)\s|\./\S)"
)
"""A command that somebody gave in a terminal whose screen was kept, or that `set -x` repeats."""
_ENDED = re.compile(
    r"^\s*Traceback \(most recent call last\)|\*\*\* (?:JOB|STEP) |"
    r"ENDING TIMING RUN|exits with return code|ChildFailedError|\(exitcode: |KeyboardInterrupt|"
    r"^\s*(?:Killed|Terminated|Hangup)\s*$|Fatal Python error"
)


class EndingsParser(LineParser):
    """Parser of good ends and of fresh starts."""

    NAME: ClassVar[str] = "endings"
    NEEDLES: ClassVar[tuple[str, ...]] = (
        *needles("endings"),
        *(f"{sign} {command}" for sign in "#$+" for command in _COMMANDS),
        *(f"{who[1:]} {did}" for who in _WHO for did in _DID),
    )

    def __init__(self) -> None:
        self._ended = False

    def feed(self, line: Line) -> Iterator[Event]:
        """Say good ends and fresh starts."""
        text = line.text
        if _BANNER.search(text) or _PROMPT.search(text):
            if self._ended:
                yield Restarted(**place(line), launch=True)
            self._ended = False
            return
        whole_job = (_WHOLE_JOB.search(text) or _ALL_WELL.search(text)) is not None
        if whole_job or _STEP.search(text):
            yield Finished(**place(line), whole_job=whole_job)
        if _ENDED.search(text) or (whole_job and line.origin.rank in (None, 0)):
            self._ended = True
