"""From an incident to its signs: simple facts that are no proof, but that make causes likely.

A sign is a kind and a value (`end: killed`), the same for every job that shows it, so that it can
be counted over labelled jobs: how often was each cause the truth where the sign was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unhang import lazy_re as re
from unhang.model.events import (
    DeviceFault,
    ExceptionKind,
    GlooFault,
    KernelEvent,
    NcclFailure,
    NcclReason,
    ProcessEnded,
    Progress,
    PythonException,
    StopSeen,
    StoreFault,
    UnreadLine,
)
from unhang.model.events import PhaseMark as Mark
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Call, Incident
from unhang.model.likely import Sign

_ECHOES = frozenset({ExceptionKind.COLLECTIVE, ExceptionKind.CHILD})
"""Who waited or launched says no more than a guess about somebody else."""
_SILENT_ENDS = frozenset({NcclReason.PLUGIN_NOISE, NcclReason.PROXY_FOLLOW_UP})

_TOPICS = tuple(
    (topic, re.compile(words, re.IGNORECASE))
    for topic, words in (
        ("memory", r"out of memory|\boom\b|cannot allocate|\bkilled\b|bad_alloc|memory limit"),
        ("network", r"socket|connect|route|unreachable|interface|\bport\b|resolve|bootstrap"),
        ("rdma", r"\bib\b|ibv|mlx5|infiniband|roce|rdma|libfabric|\befa\b|ucx"),
        ("peer-access", r"p2p|peer.to.peer|peer access|iommu|\bacs\b"),
        ("shared-memory", r"\bshm\b|shared memory|bus error|sigbus"),
        ("device", r"\bxid\b|\becc\b|nvlink|nvswitch|fell off|fallen off|hardware"),
        ("kernel", r"illegal|device-side|assert|misaligned|cuda error|cublas|cudnn"),
        ("crash", r"segfault|segmentation|sigsegv|core dumped|abort|fatal"),
        ("versions", r"version|undefined symbol|not compiled|unsupported|incompatible|driver"),
        ("files", r"no such file|permission|disk|read-only|stale file|quota|i/o error"),
        ("saving", r"\bsav(e|ed|ing)\b|checkpoint"),
        ("evaluation", r"\beval|validat|generat|predict|metric"),
        ("data", r"dataset|dataloader|data_?loader|tokeni|collat|sampler|batch|shard"),
        ("compilation", r"compil|inductor|triton|autotun|ninja|kernel cache|graph capture"),
        ("difference", r"mismatch|different|differs|inconsistent|unused param|diverg|desync"),
        ("start", r"rendezvous|init_process_group|master_addr|world.?size|store"),
    )
)
"""What a line is about, by plain words. Coarse on purpose: what a topic means is counted."""


def read_signs(incident: Incident, findings: Iterable[Finding] = ()) -> tuple[Sign, ...]:
    """All signs of a job, each once.

    Args:
        incident: the job.
        findings: of the rules; of those for a cause only hints are signs, the others are verdicts.
    """
    found: dict[str, Sign] = {}
    for sign in (
        *_calls(incident),
        *_phases(incident),
        *_ends(incident),
        *_faults(incident),
        *_topics(incident),
        *_hints(findings),
        *_words(incident),
    ):
        found.setdefault(sign.name, sign)
    return tuple(found.values())


def shows_failure(incident: Incident) -> bool:
    """Whether anything failed, or looks as if it had: without that no cause is likely."""
    if incident.calls or incident.failures or incident.stances:
        return True
    faults = (NcclFailure, StoreFault, GlooFault, DeviceFault, KernelEvent)
    return bool(_unread(incident)) or any(incident.all(kind) for kind in faults)


def _unread(incident: Incident) -> tuple[UnreadLine, ...]:
    return tuple(line for line in incident.all(UnreadLine) if not line.read)


def _calls(incident: Incident) -> Iterator[Sign]:
    """What is waited for, first of all."""
    call = next(iter(incident.calls), None)
    if call is None:
        return
    first = call.first
    source = None if first is None else first.source
    for op in sorted(call.ops)[:2]:
        yield Sign(kind="op", value=op.lstrip("_").lower(), source=source)
    for value in _traits(incident, call):
        yield Sign(kind="call", value=value, source=source)


def _traits(incident: Incident, call: Call) -> Iterator[str]:
    sides = call.sides
    if len(call.ops) > 1:
        yield "different-operations"
    if len({(s.op, s.numel_in, s.numel_out) for s in sides if s.numel_in is not None}) > 1:
        yield "different-sizes"
    if any(s.numel_in == 1 for s in sides):
        yield "one-element"
    if (call.seq is not None and call.seq <= 2) or any(s.completed == -1 for s in sides):
        yield "first-of-group"
    elif call.seq is not None:
        yield "later"
    if len({c.seq for c in incident.calls}) > 1:
        yield "several-stuck"
    size = incident.coverage.world_size
    gave_up = len(call.joined) + len(call.unnamed)
    if gave_up == 1:
        yield "one-gave-up"
    elif size is not None and gave_up >= size:
        yield "all-gave-up"
    elif size is not None and gave_up == size - 1:
        yield "all-but-one-gave-up"


def _phases(incident: Incident) -> Iterator[Sign]:
    for phase in incident.open_phases[:1]:
        kind = "unfinished" if phase.unfinished else "phase"
        yield Sign(kind=kind, value=phase.phase.value, source=phase.source)
    shown = [e for e in incident.events if isinstance(e, (Mark, Progress)) and e.phase is not None]
    for event in shown[-1:]:
        assert event.phase is not None
        yield Sign(kind="last phase", value=event.phase.value, source=event.source)


def _ends(incident: Incident) -> Iterator[Sign]:
    for failure in incident.failures:
        yield Sign(kind="end", value=failure.manner.value, source=failure.source)
    for event in incident.all(ProcessEnded):
        if event.signal is not None:
            yield Sign(kind="signal", value=str(event.signal), source=event.source)
    for stop in incident.all(StopSeen):
        yield Sign(kind="stop", value=stop.kind.value, source=stop.source)


def _faults(incident: Incident) -> Iterator[Sign]:
    for error in incident.all(PythonException):
        if not error.handled:
            yield Sign(kind="exception", value=error.kind.value, source=error.source)
    for failure in incident.all(NcclFailure):
        if failure.reason not in _SILENT_ENDS:
            yield Sign(kind="nccl", value=failure.reason.value, source=failure.source)
        if failure.error_class is not None:
            yield Sign(kind="nccl", value=failure.error_class.value, source=failure.source)
    for fault in incident.all(DeviceFault):
        yield Sign(kind="device", value=fault.problem.value, source=fault.source)
    for store in incident.all(StoreFault):
        yield Sign(kind="store", value=store.problem.value, source=store.source)
    for gloo in incident.all(GlooFault):
        yield Sign(kind="gloo", value=gloo.problem.value, source=gloo.source)
    for kernel in incident.all(KernelEvent):
        yield Sign(kind="kernel", value=kernel.problem.value, source=kernel.source)


def _topics(incident: Incident) -> Iterator[Sign]:
    """What the lines are about that nothing understood, or that say no more than their text."""
    vague = (e for e in incident.all(NcclFailure) if e.reason is NcclReason.UNSPECIFIED)
    other = (e for e in incident.all(DeviceFault) if not e.warning)
    told = (e for e in incident.all(PythonException) if not (e.handled or e.kind in _ECHOES))
    for event in (*_unread(incident), *vague, *other, *told):
        for topic, words in _TOPICS:
            if words.search(event.source.text):
                yield Sign(kind="words", value=topic, source=event.source)


def _hints(findings: Iterable[Finding]) -> Iterator[Sign]:
    for finding in findings:
        if finding.cause is not None and finding.strength is Strength.HINTS:
            source = next(iter(finding.evidence), None)
            yield Sign(kind="hint", value=finding.cause.value, source=source)


def _words(incident: Incident) -> Iterator[Sign]:
    for value, word in incident.words.items():
        yield Sign(kind="word", value=value, source=word.source, lines=word.lines)
