"""What the agents tell of the processes: beats of the probes, facts of the kernel.

Everything here crosses process and host borders as JSON and may be wrong, old or hostile: a value
of an unexpected type reads as unknown (None), and a beat without a process number is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from unhang.live.messages.losses import Loss
from unhang.model.ids import Rank

Json = Mapping[str, object]


class GroupBeat(NamedTuple):
    """How far one process group has come, as one of its members sees it.

    A tuple, for each report of a rank makes a new one of each of its groups.

    Attributes:
        ranks: global ranks of the members; None = the process does not tell.
        timeout_ms: the limit now.
        user_timeout_ms: the limit that the program asked for.
        enqueued: sequence number of the last collective that was issued; None = unknown.
        started: of the last that the device began; None also where the back end never tells.
        completed: of the last that ended.
        since_s: monotonic time of the process at which these numbers changed last.
    """

    name: str
    desc: str = ""
    ranks: tuple[Rank, ...] | None = None
    backend: str | None = None
    timeout_ms: int | None = None
    user_timeout_ms: int | None = None
    enqueued: int | None = None
    started: int | None = None
    completed: int | None = None
    since_s: float | None = None


class FramePlace(NamedTuple):
    """One frame of a Python stack; a tuple, for whole stacks are looked up in every report."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issued:
    """The collective that a main thread stands in, with the arguments that ranks must agree on.

    Attributes:
        op: the function of torch that the program called.
        src: global rank that sends, where the function takes one.
        dst: global rank that receives, likewise.
        tag: of a message, which both sides must give alike.
        group: name of the process group; None = the default one.
        ranks: the members of a group that is being made.
    """

    op: str
    src: Rank | None = None
    dst: Rank | None = None
    tag: int | None = None
    group: str | None = None
    ranks: tuple[Rank, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How the last calls of a main thread fit in with those that it had issued before.

    Attributes:
        fits: the last ones are what always followed so far; False = one of them is not.
        move: that call, or the last one, with the rank that it names and where it was issued.
        due: the call that always came next so far.
    """

    fits: bool
    move: str
    due: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that ends the process."""

    type: str
    message: str
    stack: tuple[FramePlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a probe published last; times in seconds, sizes in bytes.

    Attributes:
        process_started_s: epoch; with `pid` it names a process.
        wall_s: epoch, at the beat.
        mono_s: monotonic clock of that host, at the beat.
        stack: of the main thread, innermost first.
        stack_since_s: monotonic time since which the innermost place of the program is the same.
        calling: the method that the innermost frame calls, where it has stood since the beat before
            and Python tells.
        threads: inner ends of the stacks of some other threads, where the main thread stands.
        steps: optimizer steps so far, or those that the program declared.
        phase: that the program declared, in its word; None = it declared none.
        read_bytes: by system calls, files and sockets alike (`rchar`).
        write_bytes: likewise (`wchar`).
        state: `running`, `raising` or `exiting`.
        governed_ms: limits that the probe has set, by group.
        meeting_ms: the limit that the program asked for, where it waits for the others to come.
        call: the collective that the main thread stands in, and its arguments.
        course: whether its last calls are what the program always did; None = nothing tells.
        issued: calls of torch's collectives so far, sends and receives among them.
        probe_thread: number of the thread that the probe beats in.
        dumped: number of the last order that was served.
        lost: what the probe could not see or do.
        environment: variables and versions that bear on hangs; None = not told in this beat.
    """

    host: str
    pid: int
    ppid: int | None = None
    process_started_s: float | None = None
    rank: Rank | None = None
    local_rank: int | None = None
    world_size: int | None = None
    restart: int | None = None
    argv: tuple[str, ...] = ()
    wall_s: float = 0.0
    mono_s: float = 0.0
    interval_s: float = 1.0
    torch: str | None = None
    device: str | None = None
    groups: Mapping[str, GroupBeat] = field(default_factory=dict)
    stack: tuple[FramePlace, ...] = ()
    stack_since_s: float | None = None
    calling: str | None = None
    threads: tuple[tuple[FramePlace, ...], ...] = ()
    steps: int | None = None
    step_wall_s: float | None = None
    phase: str | None = None
    cpu_s: float | None = None
    rss_bytes: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    gpu_bytes: int | None = None
    state: str = "running"
    exception: Raised | None = None
    governed_ms: Mapping[str, int] = field(default_factory=dict)
    meeting_ms: int | None = None
    call: Issued | None = None
    course: Course | None = None
    issued: int | None = None
    probe_thread: int | None = None
    dumped: int | None = None
    lost: tuple[Loss, ...] = ()
    environment: Mapping[str, str] | None = None


def losses_of_ranks(beats: Iterable[Beat]) -> list[Loss]:
    """What the probes of ranks could not see or do."""
    return [
        replace(loss, ranks=frozenset({beat.rank}))
        for beat in beats
        if beat.rank is not None
        for loss in beat.lost
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """What the kernel says of a process, read by the agent beside it.

    Attributes:
        alive: False once it is gone or a zombie.
        state: of its main thread: R, S, D, T (stopped), t (traced), Z; None = not readable.
        cpu_s: used by all its threads.
        main_cpu_s: used by its main thread alone, finely counted.
        main_delayed_s: for which its main thread was ready to run and had to wait for a core.
        main_runs: how often its main thread was given a core: a sleeping one was not.
        threads_cpu_s: used by its threads but the main one, which must rest, and the probe's.
        helpers_delayed_s: for which these and its helper processes had to wait for a core.
        family_cpu_s: used by its living helper processes; falls when one of them ends.
        family_bytes: that these have read and written; likewise.
        helpers: its living helper processes.
        young: when its youngest helpers, threads and processes, began, by the monotonic clock of
            the host, and how often each was given a core.
        under: process of the nearest rank that started it, directly or through a launcher.
        stored_bytes: that it and its helpers have stored, on a device or a file server.
        rss_bytes: memory that it holds.
        faults: of pages that were not there.
        wchan: where in the kernel its main thread waits, or None.
        lock_holder: process that has the lock of a file which its main thread waits for, or None.
        dumps: it puts the stacks of its calls into words for us, and nothing else runs meanwhile.
        exit_code: None = unknown, which it is unless a parent told us.
        signal: that ended it, or None.
        last_call: of a process that has ended, the last call of its main thread; None = unknown.
        last_number: of that call, among those that all ranks issue alike.
    """

    alive: bool
    state: str | None = None
    cpu_s: float | None = None
    main_cpu_s: float | None = None
    main_delayed_s: float | None = None
    main_runs: int | None = None
    threads_cpu_s: float | None = None
    helpers_delayed_s: float | None = None
    family_cpu_s: float | None = None
    family_bytes: int | None = None
    helpers: int | None = None
    under: int | None = None
    young: tuple[tuple[float, int], ...] = ()
    read_bytes: int | None = None
    write_bytes: int | None = None
    stored_bytes: int | None = None
    rss_bytes: int | None = None
    faults: int | None = None
    wchan: str | None = None
    lock_holder: int | None = None
    dumps: bool = False
    exit_code: int | None = None
    signal: int | None = None
    last_call: str | None = None
    last_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessReport:
    """One process at one moment.

    Attributes:
        beats: how often it has beaten.
        beat_age_s: since its last beat, by the agent's clock.
    """

    beat: Beat
    facts: ProcessFacts
    beats: int
    beat_age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReport:
    """What one agent knows at one moment.

    Attributes:
        wall_s: epoch of that host.
        mono_s: monotonic clock of that host.
        launcher_alive: the command that `unhang run` started still runs there, and nobody has
            lately asked it to end.
        lost: what the agent could not see or do.
    """

    host: str
    wall_s: float
    mono_s: float
    processes: tuple[ProcessReport, ...] = ()
    launcher_alive: bool = True
    lost: tuple[Loss, ...] = ()
