"""From Kubernetes and container runtimes to ended containers, evictions and lost nodes.

Reads the output of `kubectl describe pod`, `kubectl get pod -o yaml|json`, `kubectl get events`
and what operators print::

    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    {"terminated":{"containerID":"…","exitCode":137,"reason":"OOMKilled",…}}
    Warning  Evicted  2m  kubelet  The node was low on resource: memory.
    command terminated with exit code 137

Traps: 137 alone is SIGKILL by anybody, only `OOMKilled` says memory; 143 is the SIGTERM of a
deletion, so a victim; `Completed` with exit code 0 did not fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unhang import lazy_re as re
from unhang.model.events import ClosingSignal, Event, ProcessEnded, Reporter, StopKind, StopSeen
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place, place_on
from unhang.parsers.vocabulary.signals import split_exit
from unhang.sources.line import Line

_REASON = re.compile(
    r"""(?:(?:\d{1,4}[smhd]\S{0,8}\s+)?(?:Normal|Warning)\s+|["']?\breason["']?\s*[:=]\s*["']?|\bReason:\s*|\s|\(|^)"""
    r"(?P<reason>OOMKilled|Evict(?:ed)?(?=\W)|Preempted|Preempting|DeadlineExceeded|NodeLost|NodeNotReady|"
    r"NodeShutdown|Shutdown|TerminationByKubelet|DeletionByTaintManager|"
    r"DeletionByPodGC|PreemptionByScheduler|EvictionByEvictionAPI)\b"
)
_CODE = re.compile(
    r"""(?:["']?\b[Ee]xit ?[Cc]ode["']?\s*[:=]\s*["']?|command terminated with exit code |"""
    r"""[Cc]ontainer (?P<container>\S{1,200}) exited with (?:exit )?code |"""
    r"""[Pp]rocess completed with exit code |"""
    r"""^(?P<service>[a-z][\w.-]{0,80}-\d{1,4}) exited with code |"""
    r"""exited with (?:exit )?(?:code|status):? (?=13\d\b))"""
    r"""(?P<code>\d{1,3})\b"""
)
_ROW = re.compile(r"^[a-z0-9][a-z0-9.-]{2,200}\s+\d{1,3}/\d{1,3}\s+[A-Z]\w{2,40}\s+\d")
"""Of `kubectl get pods`."""
_ENV_RANK = re.compile(r"\s{4,12}RANK:\s+(?P<rank>\d{1,6})\s*$")
"""Of an operator's pods: the rank itself where the pod has no more than one GPU."""
_GPUS = re.compile(r"\s{4,12}nvidia\.com/gpu:\s+(?P<count>\d{1,3})\s*$")
_ANSWERED = re.compile(
    r"^\s*(?:\d{1,4}[smhd]\S{0,8}\s+(?:\(x\d{1,6} over \S{1,10}\)\s+)?)?(?:Normal|Warning)\s"
    r"|\bReason:\s|^\s{2,}[\"']?(?:reason|exitCode)\b|Exit Code:\s"
)
"""Of `kubectl describe` and `kubectl get events`, which are asked for when something is wrong."""
_INSPECTED = re.compile(r'"Name":\s*"/(?P<pod>[a-z0-9][\w.-]{1,200})"')
_OOM_KILLED = re.compile(r'"OOMKilled":\s*true\b')
_STATUS = re.compile(r"^Status:\s+(?P<status>[A-Z][a-z]{3,20})\s*$")
_WENT_WELL = frozenset({"Succeeded", "Completed", "Complete"})
_POD = re.compile(
    r"^\s*(?:Name|Pod|pod):?\s+(?:pod/)?(?P<pod>[a-z0-9][a-z0-9.-]{2,200})\s*$"
    r"|^(?P<row>[a-z0-9][a-z0-9.-]{2,200})(?=\s+\d{1,3}/\d{1,3}\s+[A-Z]\w{2,40}\s+\d)"
    r"|^\S{0,80}?[$#]\s.{0,200}?\bkubectl\s.{0,120}?\b(?:pods?|po)[ /]"
    r"(?P<asked>[a-z0-9][a-z0-9.-]{2,200})"
)
_POD_IN_EVENT = re.compile(r"\bpod/(?P<pod>[a-z0-9][a-z0-9.-]{2,200})")
_JOB_IN_EVENT = re.compile(r"\b[a-z]{0,20}job/(?P<job>[a-z0-9][a-z0-9.-]{1,200})")
_DELETED = re.compile(
    r"(?:(?:\d{1,4}[smhd]\S{0,8}\s+)?Normal\s+Killing\s.{0,250}?)?Stopping container "
    r"|preStop hook|Exceeded grace period"
)

_STATE = re.compile(r"""^\W{0,8}(?:"[\w.]{1,40}":\W{1,8}){0,6}"terminated":\s?\{[^{}]{0,2000}\}""")
"""`kubectl get pod -o jsonpath=…lastState` and `-o json` on one line."""
_STATE_CODE = re.compile(r'"exitCode":\s?(?P<code>\d{1,3})\b')
_STATE_REASON = re.compile(r'"reason":\s?"(?P<reason>\w{1,40})"')

_STOPS = {
    "Evicted": StopKind.EVICTED,
    "Evict": StopKind.EVICTED,  # Volcano
    "TerminationByKubelet": StopKind.EVICTED,
    "EvictionByEvictionAPI": StopKind.EVICTED,
    "Preempted": StopKind.PREEMPTED,
    "Preempting": StopKind.PREEMPTED,
    "PreemptionByScheduler": StopKind.PREEMPTED,
    "DeadlineExceeded": StopKind.TIME_LIMIT,
    "NodeLost": StopKind.NODE_FAILED,
    "NodeNotReady": StopKind.NODE_FAILED,
    "NodeShutdown": StopKind.NODE_FAILED,
    "Shutdown": StopKind.NODE_FAILED,
    "DeletionByTaintManager": StopKind.EVICTED,
    "DeletionByPodGC": StopKind.NODE_FAILED,
}
_PREEMPTED = re.compile(r"preempt(?:ed|ion)?\b", re.IGNORECASE)
"""Why the node was shut down, in the words of the cloud."""
_CONTEXT = re.compile(
    r"kubelet|kubectl|\bpod\b|\bPod\b|container|Reason:|reason|Warning\s|Job\b|k8s"
)


_NEAR = 4
"""Lines between the reason of an end and its code."""


class KubernetesParser(LineParser, name="kubernetes", after=3):
    """Parser of pod states and events."""

    def __init__(self) -> None:
        self._oom_at: int | None = None
        self._pod: str | None = None
        self._well = False
        self._jobs: set[str] = set()
        self._stops: list[tuple[str | None, StopSeen]] = []
        self._ends: list[ProcessEnded] = []
        self._ranks: dict[str | None, Rank] = {}
        self._crowded: set[str | None] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say which container ended how, and who stopped the pod."""
        for event in self._events(line):
            # A pod that succeeded lost a container that keeps its logs, not the job.
            if isinstance(event, StopSeen):
                told = _POD_IN_EVENT.search(line.text)
                self._stops.append((None if told is None else told["pod"], event))
            elif not isinstance(event, ProcessEnded):
                yield event
            elif not self._well:
                self._ends.append(event)

    def finish(self) -> Iterator[Event]:
        """Say the ends, with the ranks of pods that were described, and the stops.

        Where events name the job, those of its own pods, whose names begin so.
        """
        for end in self._ends:
            alone = end.host not in self._crowded
            yield replace(end, rank=self._ranks.get(end.host) if alone else None)
        self._ends.clear()
        own = tuple(f"{job}-" for job in self._jobs)
        yield from (e for pod, e in self._stops if not own or pod is None or pod.startswith(own))
        self._stops.clear()

    def _events(self, line: Line) -> Iterator[Event]:
        pod = (
            _POD.match(line.text) or _POD_IN_EVENT.search(line.text) or _INSPECTED.search(line.text)
        )
        if pod is not None:
            self._pod, self._well = next(filter(None, pod.groups())), False
        if (job := _JOB_IN_EVENT.search(line.text)) is not None:
            self._jobs.add(job["job"])
        if self._pod is not None and (told := _ENV_RANK.match(line.text)) is not None:
            self._ranks[self._pod] = Rank(int(told["rank"]))
        if (gpus := _GPUS.match(line.text)) is not None and int(gpus["count"]) > 1:
            self._crowded.add(self._pod)
        status = _STATUS.match(line.text)
        if status is not None:
            self._well = status["status"] in _WENT_WELL
        state = _STATE.search(line.text)
        if state is not None:
            yield from self._terminated(line, state[0])
            return
        if _OOM_KILLED.search(line.text) is not None:
            self._oom_at = line.number
            yield self._ended(line, 137, oom=True)
        row = _ROW.match(line.text) is not None
        reason = _REASON.search(line.text) if row else line.says(_REASON, within=True)
        if reason is not None and reason["reason"] == "OOMKilled":
            self._oom_at = line.number
            yield self._ended(line, 137, oom=True)
        elif reason is not None and _CONTEXT.search(line.text):
            preempted = _PREEMPTED.search(line.text, reason.end()) is not None
            kind = StopKind.PREEMPTED if preempted else _STOPS[reason["reason"]]
            told = _POD_IN_EVENT.search(line.text)
            host = line.origin.host if told is None else told["pod"]
            yield StopSeen(
                **place_on(line, host),
                kind=kind,
                told_later=row or _ANSWERED.search(line.text) is not None,
            )
        yield from self._codes(line)
        if line.says(_DELETED, within=True):
            yield ClosingSignal(**place(line), pid=None, signal=15, host=self._pod)

    def _terminated(self, line: Line, state: str) -> Iterator[Event]:
        """The state of a container as the cluster answers it in JSON, on one line."""
        code, reason = _STATE_CODE.search(state), _STATE_REASON.search(state)
        number = None if code is None else int(code["code"])
        if reason is not None and reason["reason"] == "OOMKilled":
            yield self._ended(line, number or 137, oom=True)
        elif number:
            yield self._ended(line, number)

    def _codes(self, line: Line) -> Iterator[Event]:
        """Exit codes, but not the one that belongs to an OOMKilled just above it."""
        known = self._oom_at is not None and line.number - self._oom_at <= _NEAR
        for match in line.sayings(_CODE, within=True):
            code = int(match["code"])
            if code != 0 and not (known and code == 137):
                yield self._ended(line, code, who=match["container"] or match["service"])

    def _ended(
        self, line: Line, code: int, *, oom: bool = False, who: str | None = None
    ) -> ProcessEnded:
        number, exit_code = split_exit(code)
        return ProcessEnded(
            **place(line),
            reporter=Reporter.KUBERNETES,
            host=who or self._pod or line.origin.host,
            signal=number,
            exit_code=exit_code,
            oom=oom,
            told_later=any(p.search(line.text) for p in (_ROW, _ANSWERED)),
        )
