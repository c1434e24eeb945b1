"""From success marks to good ends, and from start banners to further runs in one file.

Reads::

    :::MLLOG {… "key": "run_stop", … "metadata": {… "status": "success"}}
    `Trainer.fit` stopped: `max_epochs=10` reached.
    Trial TorchTrainer_77f1a: attempt 1 of 3, restoring from checkpoint_000005
    {'train_runtime': 812.4, 'train_samples_per_second': …}
    Job 'raysubmit_x' succeeded
    [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.
    [State Transition] SHUTTING_DOWN -> FINISHED.      (Ray Train)
    Number of trials: 4/4 (4 TERMINATED)               (Ray Tune's word for all that ended)
    $ echo $?
    0
    nohup: ignoring input

Traps: "Training complete" is the end of one rank's loop, not of the job: ranks that are still in
it hang from then on, so it does not speak for the job. Every node prints start
banners, so a banner begins a further run only after something has ended; marks that ranks print
to stdout are none, because a buffered stdout comes out after the traceback on stderr.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, Finished, Restarted
from unhang.model.forms import named
from unhang.parsers.base import LineParser, needles, place
from unhang.sources.line import Line

_PATTERNS = named("unhang.parsers", "data/endings.toml")
_WHOLE_JOB = _PATTERNS["whole_job"]
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
_STEP = _PATTERNS["step"]
_ONE = re.compile(r"Process \d{1,10} exits successfully")
_BANNER = _PATTERNS["banner"]
_AGAIN = re.compile(
    r"\b(?:re-?start|re-?launch|re-?spawn|re-?stor|resum|re-?queu|re-?schedul|re-?try)"
    r"(?:s|e|es|ed|ing|ying|ied)?\b"
    r"|\bstart(?:s|ed|ing)?\b(?! (?:at|from) (?:the )?(?:step|epoch|iter\w{0,6}) ?#?[01]\b)",
    re.IGNORECASE,
)
"""What starts at its first step begins."""
_WHOLE = re.compile(
    r"\b(?:job|run|trial|training|trainer|all (?:the )?(?:\d{1,6} )?(?:workers|ranks|processes)"
    r"|worker group|gang)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"\b(?:attempt|retry|restart|try|iteration) ?#?\d{1,4} ?(?:of|/) ?\d|\(\d{1,4}/\d{1,4}\)"
    r"|\b(?:from|at) (?:the )?(?:last |latest |newest )?(?:checkpoint|snapshot|step|epoch|iter)",
    re.IGNORECASE,
)
"""A line with all three says that the whole job begins again."""
_COMMANDS = ("bash", "sh", "python", "torchrun", "accelerate", "deepspeed", "mpirun", "srun", "./")
_PROMPT = _PATTERNS["prompt"]
"""A command that somebody gave in a terminal whose screen was kept, or that `set -x` repeats."""
_ENDED = _PATTERNS["ended"]


_ASKED = re.compile(
    r"(?:^|[#$%]) ?echo (?:rc=|exit=|\"?[\w ]{0,30}[:=]? ?)?\$\?\"?\s*$"
    r"|^\++ echo '?(?:rc|exit|status|exit[ _]code)[=: ]{1,2}0'?\s*$"
)
"""Somebody asks how the command before ended: in a terminal, or in a script that `set -x` shows."""
_ANSWER = re.compile(r"(?:[A-Za-z][\w ]{0,30}[:=] ?)?0\s*$")


class EndingsParser(
    LineParser,
    name="endings",
    after=1,
    needles=(
        *needles("endings"),
        *(f"{sign} {command}" for sign in "#$+" for command in _COMMANDS),
        *(f"{who[1:]} {did}" for who in _WHO for did in _DID),
    ),
):
    """Parser of good ends and of fresh starts."""

    def __init__(self) -> None:
        self._ended = False
        self._asked = False

    def feed(self, line: Line) -> Iterator[Event]:
        """Say good ends and fresh starts."""
        text = line.text
        answered = self._asked and not line.gap and _ANSWER.match(text) is not None
        self._asked = _ASKED.search(text) is not None
        if _BANNER.search(text) or _PROMPT.search(text):
            if self._ended:
                yield Restarted(**place(line), launch=True)
            self._ended = False
            return
        if _COUNTED.search(text) and _AGAIN.search(text) and _WHOLE.search(text):
            yield Restarted(**place(line))
        whole_job = answered or (_WHOLE_JOB.search(text) or _ALL_WELL.search(text)) is not None
        if whole_job or _STEP.search(text):
            one = _ONE.search(text) is not None
            yield Finished(**place(line), whole_job=whole_job, one_process=one)
        if _ENDED.search(text) or (whole_job and line.origin.rank in (None, 0)):
            self._ended = True
