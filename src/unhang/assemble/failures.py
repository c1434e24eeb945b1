"""From exceptions, faults and exit codes to failed processes, one `Failure` for each.

What tells of one process is merged under its rank, its pid, or its host and local rank. The
earliest telling event says how it failed: later ones are its own echoes.
"""

from __future__ import annotations

import signal
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cmp_to_key

from unhang import lazy_re as re
from unhang.assemble.identity import Identity
from unhang.assemble.manners import CRASH_SIGNALS, manner_of
from unhang.assemble.run import Run
from unhang.assemble.speakers import first_host, process_of, tells_of_another
from unhang.assemble.ties import Ties
from unhang.assemble.timeline import Timeline
from unhang.model.events import (
    ClosingSignal,
    DeviceFault,
    Event,
    KernelEvent,
    KernelProblem,
    NcclFailure,
    ProcessEnded,
    PythonException,
    Reporter,
)
from unhang.model.incident import Failure, Manner, Tie
from unhang.model.time import Instant
from unhang.parsers.vocabulary.signals import signal_number


def find_failures(run: Run) -> tuple[tuple[Failure, ...], tuple[Failure, ...]]:
    """Return the failed processes, and those of others on the same hosts; earliest first."""
    groups: dict[Hashable, list[Event]] = {}
    for event in run.events:
        if manner_of(event) is not None:
            groups.setdefault(_process_key(event, run.identity), []).append(event)
    _join_chains(groups)
    _adopt_anonymous_exception(groups)
    _adopt_anonymous_end(groups)
    ties = Ties(run)
    failures = [f for told in groups.values() if (f := _merge(told, run, ties))]
    failures.sort(key=cmp_to_key(lambda a, b: run.timeline.compare(a.events[0], b.events[0])))
    ordered = [replace(f, order=place) for place, f in enumerate(failures)]
    return (
        tuple(f for f in ordered if f.tie is not Tie.NONE),
        tuple(f for f in ordered if f.tie is Tie.NONE),
    )


def _process_key(event: Event, identity: Identity) -> Hashable:
    """What names the process; an event that names none stands for itself."""
    rank = identity.rank_of(event)
    if rank is not None:
        return ("rank", rank)
    host, local, pid, task = process_of(event)
    if tells_of_another(event):
        if pid is not None:
            return ("pid", pid)
        if local is not None:
            return ("local", host, local)
        if task is not None:
            return ("task", task)
        return ("ended", event.source.artifact, event.source.line, event.source.text)
    if pid is not None:
        return ("pid", pid)
    if local is not None:
        return ("local", host, local)
    # A task may be a launcher of several ranks, so what it prints is not one process's.
    if isinstance(event, PythonException) and event.process is not None:
        return ("process", event.source.artifact, event.process)
    return ("place", event.source.artifact, event.source.line)


def _merge(told: Sequence[Event], run: Run, ties: Ties) -> Failure | None:
    """One failure from everything that tells of one process; None when it ended well."""
    identity, timeline = run.identity, run.timeline
    ended = [e for e in told if isinstance(e, ProcessEnded)]
    printed: list[Event] = [e for e in told if not isinstance(e, ProcessEnded)]
    telling = _first_telling(printed, timeline) or (ended[0] if ended else None)
    if isinstance(telling, ClosingSignal):
        closed = telling
        telling = next((e for e in ended if _crashed_first(e, closed, timeline)), telling)
    if telling is None:
        return None
    manner = manner_of(telling)
    if manner is None:
        return None
    # A parent that saw only "it is gone" must not hide the signal that another one names.
    last = next((e for e in reversed(ended) if e.signal is not None), ended[-1] if ended else None)
    if manner is Manner.CRASHED and last is not None and last.signal == signal.SIGABRT:
        manner = _why_aborted(printed, run)
    if manner is Manner.KILLED and ties.closed(telling):
        manner = Manner.CLOSED
    process = identity.rank_of(telling)
    if process is None:
        process = next((r for e in told if (r := identity.rank_of(e)) is not None), None)
    return Failure(
        rank=process,
        host=first_host(told),
        local_rank=next((lo for e in told if (lo := process_of(e).local) is not None), None),
        pid=next((p for e in told if (p := process_of(e).pid) is not None), None),
        manner=manner,
        at=_when(telling, ended, timeline),
        events=(telling, *(e for e in told if e is not telling)),
        order=0,
        signal=_signal_of_kernel_log(telling) if last is None else last.signal,
        exit_code=None if last is None else last.exit_code,
        tie=ties.find(told),
    )


def _crashed_first(event: ProcessEnded, closed: Event, timeline: Timeline) -> bool:
    """Whether it crashed before the launcher closed the others, though it is listed with those.

    SIGTERM ends nobody by a segmentation fault; an abort may be the answer to it. What a process
    says of its own crash counts where that came first.
    """
    if event.signal not in CRASH_SIGNALS or event.signal == signal.SIGABRT:
        return False
    own = event.reporter is Reporter.SELF and timeline.before(event, closed)
    return event.reported_first or own


def _signal_of_kernel_log(event: Event) -> int | None:
    """The signal that follows a fault which the kernel logged."""
    if not isinstance(event, KernelEvent) or event.problem is not KernelProblem.SEGFAULT:
        return None
    told = _SIGNAL.search(event.detail)
    if told is not None:
        return signal_number(told["signal"] or told["name"])
    if "dumped core" in event.detail:
        return None
    return signal.SIGFPE if "divide" in event.detail else signal.SIGSEGV


_SIGNAL = re.compile(r"\bsignal (?P<signal>\d{1,2})\b|\b(?P<name>SIG[A-Z]{3,4})\b")


def _when(telling: Event, ended: Sequence[ProcessEnded], timeline: Timeline) -> Instant | None:
    """When it failed: as printed, else when it left by itself, else by what stands above it.

    A traceback rarely has a time, and the last line above it may be much older. A signal tells
    when others ended it, which may be long after.
    """
    if telling.at is not None:
        return telling.at
    seen = next((e.at for e in ended if e.at is not None and e.exit_code is not None), None)
    return timeline.time_of(telling) if seen is None else seen


_TELLING_ORDER = (
    Manner.HOST_OOM,
    Manner.GPU_OOM,
    Manner.DEVICE,
    Manner.RAISED,
    Manner.CRASHED,
    Manner.NCCL,
    Manner.STOPPED,
    Manner.WATCHDOG,
    Manner.PEER,
    Manner.CLOSED,
)


def _first_telling(printed: list[Event], timeline: Timeline) -> Event | None:
    """The event that says how the process failed.

    The earliest one; of those that belong together (an exception and the CUDA error inside it,
    printed within the same seconds) the most specific.
    """
    candidates = [e for e in printed if not (isinstance(e, PythonException) and e.chained)]
    if not candidates:
        candidates = printed
    if not candidates:
        return None
    first = candidates[0]
    for event in candidates[1:]:
        if timeline.before(event, first):
            first = event
    near = [e for e in candidates if _near(e, first, timeline)]
    return min(near, key=_specific)


def _near(event: Event, first: Event, timeline: Timeline) -> bool:
    gap = timeline.gap_s(event, first)
    if gap is not None and abs(gap) > 2:
        return False
    if event.source.artifact != first.source.artifact:
        return gap is not None
    if event.source.line is None or first.source.line is None:
        return True
    return abs(event.source.line - first.source.line) <= 40


def _specific(event: Event) -> int:
    manner = manner_of(event)
    return _TELLING_ORDER.index(manner) if manner in _TELLING_ORDER else len(_TELLING_ORDER)


def _why_aborted(printed: list[Event], run: Run) -> Manner:
    """SIGABRT: by its own watchdog where there is a trace of one, else a crash."""
    if any(e.gave_up for e in printed):
        return Manner.WATCHDOG
    if not printed and (run.all(NcclFailure) or any(e.gave_up for e in run.events)):
        return Manner.WATCHDOG
    return Manner.CRASHED


def _join_chains(groups: dict[Hashable, list[Event]]) -> None:
    """Join a traceback that names nobody with the one that says it came from it."""
    open_chains: dict[str, list[Event]] = {}
    for key, told in [*groups.items()]:
        event = told[0]
        if not (
            isinstance(key, tuple) and key[0] == "place" and isinstance(event, PythonException)
        ):
            continue
        before = open_chains.pop(event.source.artifact, None)
        if before is not None:
            before += groups.pop(key)
        if event.chained:
            open_chains[event.source.artifact] = told if before is None else before


def _adopt_anonymous_exception(groups: dict[Hashable, list[Event]]) -> None:
    """Join tracebacks that name nobody with the processes that left with an exit code.

    Sound only when all such tracebacks are one error, of one such process or one of each. Ray
    catches what an actor raises, so that a process which it lost died of something else.
    """
    nameless = [
        key
        for key, told in groups.items()
        if isinstance(key, tuple)
        and key[0] == "place"
        and isinstance(told[0], PythonException | DeviceFault)
        and manner_of(told[0]) in (Manner.RAISED, Manner.GPU_OOM, Manner.DEVICE, Manner.HOST_OOM)
    ]
    first = [groups[key][-1] for key in nameless]
    aborted = not any(e.gave_up for told in groups.values() for e in told) and all(
        isinstance(event, DeviceFault) for event in first
    )
    bare = [
        key
        for key, told in groups.items()
        if all(isinstance(e, ProcessEnded) and e.reporter is not Reporter.RAY for e in told)
        and (manner_of(told[0]) is Manner.EXITED or (aborted and _is_abort(told[0])))
    ]
    errors = {_signature(event) for event in first}
    if len(errors) != 1 or len(bare) not in {1, len(nameless)}:
        return
    for place, key in enumerate(nameless):
        groups[bare[place % len(bare)]][:0] = groups.pop(key)


def _is_abort(event: Event) -> bool:
    """A runtime below Python ends the process so, when its GPU fails."""
    return isinstance(event, ProcessEnded) and event.signal == signal.SIGABRT


def _adopt_anonymous_end(groups: dict[Hashable, list[Event]]) -> None:
    """Join an end by a signal that names nobody with the only process of which that is told.

    A launcher that counts no ranks reports the same end in words of its own.
    """
    ended = {
        key: told[0]
        for key, told in groups.items()
        if isinstance(told[0], ProcessEnded) and told[0].signal in CRASH_SIGNALS
    }
    for key, end in ended.items():
        if _is_nameless(key):
            own = [k for k in ended if not _is_nameless(k) and ended[k].signal == end.signal]
            if len(own) == 1:
                groups[own[0]] += groups.pop(key)


def _is_nameless(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[0] == "ended"


def _signature(event: Event) -> Hashable:
    if isinstance(event, PythonException):
        return event.exception
    return type(event).__name__
