"""From the words of the evidence to the mechanism at work, where that decides the remedy.

A cause names what went wrong; how it went wrong decides what helps. EFA is no InfiniBand, a
rendezvous whose waiters reached the store needs no other address, a full disk no exception handler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.causes import Cause
from unhang.model.events import (
    DeviceFault,
    KernelEvent,
    NcclFailure,
    ProcessEnded,
    PythonException,
    StoreFault,
    StoreProblem,
)
from unhang.remedies.context import RemedyContext
from unhang.remedies.cures import Cure

_SIGKILL = 9
_FABRIC = frozenset({Cause.RDMA_FAULT, Cause.P2P_FAULT})
_RAISED = frozenset({Cause.RANK_EXCEPTION, Cause.RANK_CRASH, Cause.DATA_SLOW, Cause.HOST_OOM})
_ANSWERED = frozenset({StoreProblem.PEER_CLOSED, StoreProblem.VALIDATION_FAILED})
_REACHED = frozenset(
    {
        StoreProblem.KEY_TIMED_OUT,
        StoreProblem.UNIQUE_ID_TIMED_OUT,
        StoreProblem.BARRIER_TIMED_OUT,
        StoreProblem.BARRIER_WAITING,
        StoreProblem.CLIENTS_MISSING,
    }
)
"""Whoever says one of these talked to the store: its address is right."""

_UNREACHED = frozenset(
    {
        StoreProblem.CONNECT_TIMED_OUT,
        StoreProblem.RESOLVE_FAILED,
        StoreProblem.RENDEZVOUS_UNREACHABLE,
        StoreProblem.BAD_CONFIGURATION,
        StoreProblem.PORT_IN_USE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """One way in which causes come about.

    Attributes:
        words: what the evidence says then.
        unless: what it does not say then.
        causes: only for verdicts of these; empty = for all.
        cures: what helps, before everything else.
        without: what does not.
        alone: nothing else helps.
    """

    words: re.Pattern[str]
    cures: tuple[Cure, ...]
    unless: re.Pattern[str] | None = None
    causes: frozenset[Cause] = frozenset()
    without: frozenset[Cure] = field(default_factory=frozenset)
    alone: bool = False


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


MECHANISMS = (
    Mechanism(
        words=_words(r"\befa\b|libfabric|fi_cq_read|net/ofi|aws-ofi|fi_\w+ failed"),
        causes=_FABRIC,
        cures=(Cure.EFA_CHECK, Cure.EXCLUDE_NODE),
        alone=True,
    ),
    Mechanism(
        words=_words(r"\bacs\b|access control services|iommu"),
        causes=_FABRIC,
        cures=(Cure.ACS_OFF, Cure.P2P_OFF),
        without=frozenset({Cure.GID_INDEX, Cure.IB_PATIENCE, Cure.MEMLOCK}),
    ),
    Mechanism(
        # NCCL prints the link layer of each port that it uses: mlx5_0:1/IB, or /RoCE.
        words=_words(r":\d+/ib\b"),
        unless=_words(r"/roce"),
        causes=_FABRIC,
        cures=(),
        without=frozenset({Cure.GID_INDEX}),
    ),
    Mechanism(
        words=_words(r"rtx 4000 series|doesn't support faster communication"),
        cures=(Cure.CONSUMER_GPU,),
        alone=True,
    ),
    Mechanism(
        words=_words(r"doesn't have nccl built in|without nccl|no nccl backend"),
        cures=(Cure.GLOO_BACKEND,),
        alone=True,
    ),
    Mechanism(
        # DistributedDataParallel and Lightning both name the setting in the exception.
        words=_words(r"parameters that were not used in producing (?:the )?loss"),
        causes=frozenset({Cause.RANK_EXCEPTION, Cause.MODEL_DIVERGENCE}),
        cures=(Cure.UNUSED_PARAMETERS,),
    ),
    Mechanism(
        words=_words(r"invalid device ordinal"),
        causes=frozenset({Cause.DEVICE_MAP, Cause.RANK_EXCEPTION}),
        cures=(Cure.FEWER_PROCESSES,),
    ),
    Mechanism(words=_words(r"libnvidia-ml\.so"), cures=(Cure.DRIVER_LIBRARY,), alone=True),
    Mechanism(
        words=_words(r"driver version is insufficient|driver.{0,40}too old|forward compatibility"),
        cures=(Cure.NEWER_DRIVER, Cure.SAME_VERSIONS),
        alone=True,
    ),
    Mechanism(
        words=_words(r"no space left on device|disk quota exceeded|errno 28\b|errno 122\b"),
        unless=_words(r"shared memory|dev/shm|nccl-\w+"),
        causes=_RAISED | {Cause.CHECKPOINT_SLOW},
        cures=(Cure.FREE_DISK,),
        alone=True,
    ),
    Mechanism(
        words=_words(r"pytorchstreamwriter failed|inline_container\.cc.{0,60}unexpected pos"),
        causes=_RAISED,
        cures=(Cure.WHY_NO_WRITE, Cure.FREE_DISK),
        alone=True,
    ),
    Mechanism(words=_words(r"max_map_count"), cures=(Cure.MAP_COUNT,), alone=True),
    Mechanism(
        words=_words(r"too many open files|ancdata|errno 24\b"),
        cures=(Cure.SHARE_BY_FILES,),
        alone=True,
    ),
)
"""In the order in which they are asked; the first that speaks of the case decides."""


def apply(case: RemedyContext, cures: tuple[Cure, ...]) -> tuple[Cure, ...]:
    """The cures of a cause, with what the mechanism at hand calls for."""
    text = "\n".join(_texts(case))
    for mechanism in MECHANISMS:
        if mechanism.causes and case.cause not in mechanism.causes:
            continue
        if mechanism.words.search(text) is None:
            continue
        if mechanism.unless is not None and mechanism.unless.search(text) is not None:
            continue
        rest = () if mechanism.alone else tuple(c for c in cures if c not in mechanism.without)
        return (*mechanism.cures, *rest)
    if case.cause is Cause.RENDEZVOUS:
        return _rendezvous(case, cures)
    if case.cause is Cause.RANK_CRASH and killed_silently(case):
        return (Cure.MORE_HOST_MEMORY, Cure.FEWER_LOADERS, Cure.LEAN_LOAD, *cures)
    return cures


def killed_silently(case: RemedyContext) -> bool:
    """A rank got SIGKILL and nobody says from whom: most often the kernel, for want of memory."""
    ends = [e for e in case.incident.all(ProcessEnded) if e.rank in case.culprits or not e.worker]
    return any(e.signal == _SIGKILL for e in ends)


def _rendezvous(case: RemedyContext, cures: tuple[Cure, ...]) -> tuple[Cure, ...]:
    """Who reached the store needs no other address: somebody else is late, or gone."""
    faults = case.incident.all(StoreFault)
    problems = {fault.problem for fault in faults}
    local = any(_is_loopback(fault.host) for fault in faults)
    if any((fault.host or "").startswith("127.0.1.") for fault in faults):
        # How Debian's /etc/hosts gives a host its own name: no other host means this one by it.
        return cures
    if problems & _UNREACHED == {StoreProblem.PORT_IN_USE}:
        # A port that another program holds is not free later, nor is it on another address.
        cures = (Cure.FREE_PORT,)
    if local and StoreProblem.RENDEZVOUS_UNREACHABLE in problems and problems & _ANSWERED:
        # What answers on this very host is no store, however long anybody waits.
        return tuple(c for c in cures if c is not Cure.LONGER_RENDEZVOUS)
    if problems & _REACHED and not problems & _UNREACHED:
        return (Cure.LATE_RANK, Cure.LONGER_RENDEZVOUS)
    if local and not problems & (_UNREACHED - {StoreProblem.CONNECT_TIMED_OUT}):
        return (Cure.LATE_RANK, *(c for c in cures if c is not Cure.ONE_ENDPOINT))
    return cures


def _is_loopback(host: str | None) -> bool:
    return host is not None and (host.startswith("127.") or host in ("localhost", "::1"))


def _texts(case: RemedyContext) -> Iterator[str]:
    told = (DeviceFault, KernelEvent, NcclFailure, PythonException, StoreFault)
    for event in case.incident.events:
        if isinstance(event, told):
            yield event.source.text
            if isinstance(event, PythonException):
                yield f"{event.exception}: {event.message}"
