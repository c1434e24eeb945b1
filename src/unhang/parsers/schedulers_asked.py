"""From what schedulers and services answer about a job that is over to who ended it.

Reads the answers of `sacct`, `scontrol show job`, `qacct -j`, `flux job eventlog`, `aws batch
describe-jobs`, `kubectl get pod -o json`, and the log that HTCondor keeps of a job::

    60218    halo_fit    ann    TIMEOUT    0:0 2026-01-14T11:19:02 2026-01-14T12:12:31  …
    JobState=PREEMPTED Reason=None Dependency=(null)
    failed       37 : qmaster enforced h_rt, h_cpu, or h_vmem limit
    [Jul30 01:22] exception type="timeout" severity=0 note="resource allocation expired"
    "statusReason": "Host EC2 (instance i-0b7d2c9a) terminated."
    "message": "Pod was terminated in response to imminent node shutdown."
    012 (902211.003.000) 2026-09-06 09:16:44 Job was held.

Traps: a list of several jobs does not say which is meant; the steps of a job end because the job
does; `FAILED` and `COMPLETED` say no more than the exit code.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping

from unhang import lazy_re as re
from unhang.model.events import Event, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.time import Clock, Instant, local_instant
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import flux
from unhang.sources.context import LineContext
from unhang.sources.line import Line

_K = StopKind
_STATES = {
    "TIMEOUT": _K.TIME_LIMIT,
    "DEADLINE": _K.TIME_LIMIT,
    "PREEMPTED": _K.PREEMPTED,
    "NODE_FAIL": _K.NODE_FAILED,
    "CANCELLED": _K.CANCELLED,
}
"""Slurm's states (sacct(1), JOB STATE CODES) of jobs that somebody else ended."""
_STATE = rf"(?P<state>{'|'.join(_STATES)}|OUT_OF_ME\w*)"
_HEAD = re.compile(r"\s*JobID\w*[ |].*\bState\b")
_ROW = re.compile(
    r"\s*(?P<job>\d{1,12}(?:_\d{1,8})?)(?P<step>\.[\w+]{1,20})?[ |].{0,200}?(?<=[ |])"
    rf"{_STATE}"
    r"(?: by \d{1,10})?\+?(?=[ |]|$)"
)
_SHOWN = re.compile(rf"\s*JobState={_STATE}\b")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
_END = re.compile(r"\bEndTime=(?P<at>\S{19})")

_FIELD = re.compile(
    r"(?P<key>failed|exit_status|ru_wallclock|end_time|maxvmem|category)\s+(?P<is>\S.*)"
)
_LIMIT = re.compile(r"\bh_rt=(?P<limit>[\d:]{1,12})")
_SECONDS = re.compile(r"(\d{1,9})(?:\.\d+)?s?\b")
_ENFORCED, _AFTERWARDS = 37, 100
"""sge_diagnostics: the master enforced a limit; the job failed after it had run."""
_SLACK_S = 60

_EVENT = re.compile(
    r"""exception[ "].{0,60}?\btype["']?[=:] ?["']?(?P<what>timeout|cancel|preempt)\b["']?"""
    r""".{0,20}?\bseverity["']?[=:] ?0\b"""
)

_MEMBER = re.compile(r'\s*"(?:statusReason|reason|message)":\s*"(?P<why>[^"]{4,400})"')
_WHY = (
    (re.compile(r"Host EC2 \(instance [^)]{1,40}\) (?:terminated|stopped)"), _K.REMOVED),
    (re.compile(r"in response to imminent node shutdown"), _K.REMOVED),
    (re.compile(r"[Jj]ob attempt duration exceeded timeout"), _K.TIME_LIMIT),
)
"""AWS Batch's and the kubelet's reasons (Batch User Guide; nodeshutdown_manager.go, 1.21 on)."""
_CONDOR = re.compile(
    r"(?P<event>004|009|012) \(\d{1,9}\.(?P<process>\d{3,6})\.\d{3,6}\) (?P<at>.{14,19}) Job was "
)
_BY_USER = re.compile(r"\bcondor_rm\b|by user")
_CONDOR_KINDS = {"004": _K.PREEMPTED, "009": _K.CANCELLED}
_MEMORY = re.compile(
    r"(?i)\b(?:over|exceed\w*|above|than)\b.{0,40}\bmemory\b"
    r"|\bmemory (?:usage|limit)\b.{0,40}\bexceed"
)
_TIME = re.compile(r"(?i)\b(?:over|exceed\w*)\b.{0,40}\b(?:wall|run ?time|time limit|duration)")
_RAM = re.compile(
    r"notebook tried to allocate more memory than is available"
    r"|session crashed after using all available RAM"
)
"""Kaggle's and Colab's words."""


_SAID = frozenset({LineContext.MESSAGE, LineContext.INSIDE})
"""A member of an object in JSON stands inside it."""


class SchedulersAskedParser(
    LineParser,
    name="schedulers-asked",
    needles=(
        *("JobID", "CANCELLED", "TIMEOUT", "PREEMPTED", "NODE_FAIL", "OUT_OF_ME", "DEADLINE"),
        *("JobState=", "EndTime=", "ru_wallclock", "exit_status", "end_time", "category  "),
        *("failed  ", "maxvmem", "exception type=", '"exception"', '"statusReason"'),
        *("imminent node shutdown", "Job was ", "more memory than", "all available RAM"),
    ),
    after=3,
):
    """Parser of answers about jobs that are over."""

    def __init__(self) -> None:
        self._listing = False
        self._rows: dict[str, list[Event]] = {}
        self._shown: tuple[Line, str] | None = None
        self._account: dict[str, str] = {}
        self._condor: tuple[Line, re.Match[str]] | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Say who ended a job."""
        if line.context not in _SAID:
            return
        if (condor := _CONDOR.match(line.raw.strip())) is not None:
            yield from self._held("")
            self._condor = (line, condor)
        elif self._condor is not None:
            if line.raw.startswith(("\t", "    ")):
                yield from self._held(line.text)
            return
        yield from self._slurm(line)
        self._qacct(line)
        event = _EVENT.search(line.text)
        if event is not None:
            yield _stop(line, flux.kind_of(event["what"]), line.at)
        member = _MEMBER.match(line.text)
        if member is not None:
            for pattern, kind in _WHY:
                if pattern.search(member["why"]):
                    yield _stop(line, kind, line.at)
                    return
        if line.says(_RAM, within=True) is not None:
            yield _killed(line)

    def finish(self) -> Iterator[Event]:
        """Say what a list, a block or a log tells of one job."""
        yield from self._held("")
        if len(self._rows) == 1:
            for told in self._rows.values():
                yield from told
        if self._shown is not None:
            line, state = self._shown
            yield from _of_state(line, state, line.at)

    def _slurm(self, line: Line) -> Iterator[Event]:
        """A row of a list, or the state of the one job that is shown."""
        if _HEAD.match(line.text):
            self._listing = True
        shown, ended = _SHOWN.match(line.text), _END.search(line.text)
        if shown is not None:
            self._shown = (line, shown["state"])
        if ended is not None and self._shown is not None:
            above, state = self._shown
            yield from _of_state(above, state, local_instant(ended["at"]))
            self._shown = None
        row = _ROW.match(line.text) if self._listing else None
        if row is None:
            return
        of_job = self._rows.setdefault(row["job"], [])
        if row["step"] is None or row["state"].startswith("OUT_OF_ME"):
            times = _ISO.findall(line.text)
            at = local_instant(times[-1]) if times[1:] else None
            of_job.extend(_of_state(line, row["state"], at))

    def _qacct(self, line: Line) -> None:
        """Grid Engine's account, a field for each line."""
        field = _FIELD.match(line.text)
        if field is None:
            return
        self._account[field["key"]] = field["is"].strip()
        if field["key"] == "category" and (kind := _limit_of(self._account)) is not None:
            self._rows.setdefault("account", []).append(
                _stop(line, kind, _named_instant(self._account.get("end_time", "")))
            )

    def _held(self, why: str) -> Iterator[Event]:
        """What HTCondor says below the head of an event."""
        if self._condor is None:
            return
        line, head = self._condor
        at = local_instant(head["at"]) or line.at
        self._condor = None
        if _MEMORY.search(why):
            yield _killed(line, at=at, task=int(head["process"]))
        elif _TIME.search(why):
            yield _stop(line, _K.TIME_LIMIT, at)
        elif head["event"] in _CONDOR_KINDS and (head["event"] != "009" or _BY_USER.search(why)):
            yield _stop(line, _CONDOR_KINDS[head["event"]], at)


def _of_state(line: Line, state: str, at: Instant | None) -> Iterator[Event]:
    if state.startswith("OUT_OF_ME"):
        yield _killed(line, at=at)
    else:
        yield _stop(line, _STATES[state], at)


def _stop(line: Line, kind: StopKind, at: Instant | None) -> StopSeen:
    fields = place(line)
    fields["at"] = at
    return StopSeen(**fields, kind=kind, told_later=True)


def _killed(line: Line, *, at: Instant | None = None, task: int | None = None) -> ProcessEnded:
    fields = place(line)
    fields["at"] = at or line.at
    return ProcessEnded(
        **fields, reporter=Reporter.SHELL, task=task, signal=9, oom=True, told_later=True
    )


def _limit_of(account: Mapping[str, str]) -> StopKind | None:
    """Whether Grid Engine ended a job that had run as long as it was allowed to."""
    limit, ran = _LIMIT.search(account["category"]), _SECONDS.match(account.get("ru_wallclock", ""))
    code = re.match(r"\d{1,4}", account.get("failed", ""))
    ended = code is not None and int(code[0]) in (_ENFORCED, _AFTERWARDS)
    if limit is None or ran is None or not ended:
        return None
    parts = [int(part or 0) for part in limit["limit"].split(":")]
    allowed_s = sum(part * 60**place for place, part in enumerate(reversed(parts)))
    return _K.TIME_LIMIT if allowed_s <= int(ran[1]) <= allowed_s + _SLACK_S else None


def _named_instant(text: str) -> Instant | None:
    """`Tue Jul  3 23:10:03 2018`, as `ctime` prints it."""
    try:
        moment = datetime.datetime.strptime(text + " +0000", "%a %b %d %H:%M:%S %Y %z")
    except ValueError:
        return None
    return Instant(seconds=moment.timestamp(), clock=Clock.LOCAL)
