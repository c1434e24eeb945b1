"""A small deterministic simulator of jobs: ranks that step, wait and fail, seen as node reports.

Each rank runs a generator of acts: `work` for some seconds in some phase, `call` a collective,
`stand` somewhere, `freeze`, and so on. A collective completes when all members have issued it.
Nothing is measured and nothing is random but what the given seed decides.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import Action, Note, NoteKind, OrderDump
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded
from unhang.live.messages.policy import Policy
from unhang.live.messages.reports import (
    Beat,
    FramePlace,
    GroupBeat,
    NodeReport,
    ProcessFacts,
    ProcessReport,
    Raised,
)
from unhang.model.ids import Rank

Act = tuple[object, ...]
Program = Callable[["Worker"], Generator[Act, None, None]]

TICK_S = 0.05
C10D = "/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
MAIN = FramePlace("/home/u/train.py", 10, "<module>")
PLACES: dict[str, tuple[FramePlace, ...]] = {
    "step": (FramePlace("/home/u/train.py", 40, "train_step"), MAIN),
    "backward": (
        FramePlace("/env/lib/python3.11/site-packages/torch/autograd/graph.py", 841, "_engine_run"),
        FramePlace("/env/lib/python3.11/site-packages/torch/_tensor.py", 647, "backward"),
        FramePlace("/home/u/train.py", 42, "train_step"),
        MAIN,
    ),
    "save": (
        FramePlace("/env/lib/python3.11/site-packages/torch/serialization.py", 900, "_save"),
        FramePlace("/env/lib/python3.11/site-packages/torch/serialization.py", 700, "save"),
        FramePlace("/home/u/train.py", 60, "checkpoint"),
        MAIN,
    ),
    "between": (FramePlace("/home/u/train.py", 58, "save_checkpoint"), MAIN),
    "eval": (
        FramePlace("/home/u/metrics.py", 8, "accuracy"),
        FramePlace("/home/u/train.py", 70, "evaluate"),
        MAIN,
    ),
    "data": (
        FramePlace("/env/lib/python3.11/site-packages/datasets/arrow_dataset.py", 3000, "map"),
        FramePlace("/home/u/train.py", 20, "tokenize_dataset"),
        MAIN,
    ),
    "compile": (
        FramePlace("/env/lib/python3.11/site-packages/torch/_inductor/graph.py", 50, "run"),
        FramePlace("/home/u/train.py", 40, "train_step"),
        MAIN,
    ),
    "code": (FramePlace("/home/u/train.py", 99, "helper"), MAIN),
    "packing": (
        FramePlace(C10D, 3_000, "_object_to_tensor"),
        FramePlace(C10D, 3_400, "all_gather_object"),
        FramePlace("/home/u/train.py", 55, "train_step"),
        MAIN,
    ),
    "lock": (
        FramePlace("/usr/lib/python3.11/threading.py", 1119, "join"),
        FramePlace("/home/u/train.py", 90, "collect"),
        MAIN,
    ),
    "server": (
        FramePlace("/usr/lib/python3.11/socket.py", 706, "readinto"),
        FramePlace("/home/u/reward.py", 12, "score"),
        MAIN,
    ),
}


def waiting_in(op: str, line: int = 50) -> tuple[FramePlace, ...]:
    """The stack of a rank that waits in a collective."""
    return (FramePlace(C10D, 2800, op), FramePlace("/home/u/train.py", line, "train_step"), MAIN)


@dataclass(slots=True)
class Group:
    """A process group: what each member has issued and completed."""

    name: str
    ranks: tuple[int, ...]
    counted: bool = True
    issued: dict[int, int] = field(default_factory=dict)
    completed: dict[int, int] = field(default_factory=dict)
    ops: dict[int, dict[int, str]] = field(default_factory=dict)
    """By number: what each rank issued."""
    changed_s: dict[int, float] = field(default_factory=dict)

    def issue(self, rank: int, op: str, now_s: float) -> int:
        number = self.issued.get(rank, 0) + 1
        self.issued[rank] = number
        self.completed.setdefault(rank, number - 1)
        self.ops.setdefault(number, {})[rank] = op
        self.changed_s[rank] = now_s
        return number

    def is_called_alike(self, number: int) -> bool:
        told = self.ops[number]
        return len(told) == len(self.ranks) and len(set(told.values())) == 1

    def complete(self, rank: int, number: int, now_s: float) -> None:
        self.completed[rank] = number
        self.changed_s[rank] = now_s


@dataclass(slots=True)
class Worker:
    """One rank's process."""

    rank: int
    host: str
    pid: int
    job: Job
    program: Generator[Act, None, None] | None = None
    threads: tuple[tuple[FramePlace, ...], ...] = ()
    restart: int = 0
    stack: tuple[FramePlace, ...] = PLACES["step"]
    stack_since_s: float = 0.0
    until_s: float = 0.0
    waits_for: tuple[Group, int] | None = None
    cpu_s: float = 1.0
    family_s: float = 0.0
    helped: bool = False
    bytes_: int = 0
    stored: int = 0
    steps: int = 0
    busy: bool = True
    writes: float = 0.0
    alive: bool = True
    exited: bool = False
    state: str = "R"
    stopped: bool = False
    frozen: bool = False
    beat_state: str = "running"
    exception: Raised | None = None
    signal: int | None = None
    started: bool = True
    last: Beat | None = None
    beats: int = 0
    beaten_s: float = -10.0
    next_beat_s: float = 0.0
    began_s: float = 0.0

    def place(self, stack: tuple[FramePlace, ...], now_s: float) -> None:
        if stack != self.stack:
            self.stack, self.stack_since_s = stack, now_s


@dataclass(slots=True)
class Job:
    """All of it.

    Attributes:
        inject: by time, what happens then to the job as a whole.
        device: of all ranks.
        limit_ms: the limit that the program asked for, of its groups and to meet in.
        fault_s: when the first fault of `train` happened.
        age_s: of its processes when the monitor meets them.
    """

    program: Program
    world: int = 4
    per_host: int = 8
    seed: int = 0
    device: str = "cpu"
    limit_ms: int | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    now_s: float = 1_000.0
    inject: list[tuple[float, Callable[[Job], None]]] = field(default_factory=list)
    skew_s: dict[str, float] = field(default_factory=dict)
    muted: set[str] = field(default_factory=set)
    counted: bool = True
    peers_raise: bool = False
    launcher_alive: bool = True
    fault_s: float = float("inf")
    age_s: float = 0.0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.groups["0"] = Group("0", tuple(range(self.world)), self.counted)
        for rank in range(self.world):
            self.workers.append(self.start(rank))

    dice: random.Random = field(default_factory=random.Random)

    def start(self, rank: int, restart: int = 0, generation: int = 0) -> Worker:
        worker = Worker(
            rank=rank,
            host=f"gn{rank // self.per_host}",
            pid=100 + rank + 10_000 * generation,
            job=self,
            restart=restart,
            next_beat_s=self.now_s + self.dice.random(),
            began_s=self.now_s,
        )
        worker.program = self.program(worker)
        return worker

    def group(self, *ranks: int) -> Group:
        """A further group, named as torch counts them."""
        name = "g" + "_".join(map(str, ranks))
        return self.groups.setdefault(name, Group(name, ranks, self.counted))

    def wrote(self, rank: int, size: int) -> None:
        """A process writes some bytes by the way."""
        self.workers[rank].bytes_ += size

    def fail(self, rank: int, name: str, text: str) -> None:
        """A rank raises where it stands."""
        self._raise(self.workers[rank], name, text)

    def restart_all(self, restart: int | None = None) -> None:
        """The launcher ends all processes and starts them again."""
        old = self.workers
        for worker in old:
            worker.alive = False
            worker.signal = worker.signal or 15
        for group in self.groups.values():
            group.issued.clear()
            group.completed.clear()
            group.ops.clear()
        number = old[0].restart + 1 if restart is None else restart
        fresh = [self.start(w.rank, number, w.pid // 10_000 + 1) for w in old]
        self.workers = [*fresh]

    def run(self, for_s: float) -> Iterator[NodeReport]:
        """Let time pass; one report of each host about once a second."""
        end_s = self.now_s + for_s
        next_report = {
            host: self.now_s + 0.3 + self.dice.random() * 0.4
            for host in sorted({w.host for w in self.workers})
        }
        while self.now_s < end_s:
            self.now_s += TICK_S
            for at_s, act in [i for i in self.inject if i[0] <= self.now_s]:
                self.inject.remove((at_s, act))
                act(self)
            for worker in self.workers:
                self._advance(worker)
            for host, due_s in next_report.items():
                if self.now_s >= due_s:
                    next_report[host] = due_s + 1.0 + self.dice.uniform(-0.05, 0.1)
                    if host not in self.muted:
                        yield self._report(host)

    def _advance(self, worker: Worker) -> None:
        if not worker.alive or not worker.started:
            return
        if not worker.stopped:
            if worker.busy or worker.frozen:
                worker.cpu_s += TICK_S * (0.9 if worker.busy else 0.0)
            worker.cpu_s += TICK_S * 0.003
            worker.family_s += TICK_S * (3.0 if worker.helped else 0.0)
            worker.bytes_ += int(TICK_S * (worker.writes + 200))
            if not worker.frozen:
                self._go_on(worker)
            else:
                self._go_on_frozen(worker)
        if self.now_s >= worker.next_beat_s and self._beats(worker):
            worker.next_beat_s = self.now_s + 1.0 + self.dice.uniform(0, 0.03)
            self._beat(worker)

    def _beats(self, worker: Worker) -> bool:
        return not worker.stopped and not worker.frozen and worker.alive

    def _go_on_frozen(self, worker: Worker) -> None:
        if self.now_s >= worker.until_s:
            worker.frozen = False

    def _has_lost(self, group: Group) -> bool:
        return any(not w.alive and w.rank in group.ranks for w in self.workers)

    def _go_on(self, worker: Worker) -> None:
        while not (worker.stopped or worker.frozen) and worker.alive:
            if worker.waits_for is not None:
                group, number = worker.waits_for
                if self.peers_raise and self._has_lost(group):
                    self._raise(worker, "RuntimeError", "[gloo] Connection closed by peer")
                    return
                if not group.is_called_alike(number) or self._has_lost(group):
                    return
                group.complete(worker.rank, number, self.now_s)
                worker.waits_for = None
            elif self.now_s < worker.until_s:
                return
            assert worker.program is not None
            try:
                act = next(worker.program)
            except StopIteration:
                self._begin_exit(worker)
                return
            self._do(worker, act)

    def _do(self, worker: Worker, act: Act) -> None:
        """Begin an act; each kind is a method `_begin_<kind>`."""
        kind, *rest = act
        worker.busy, worker.writes, worker.state = False, 0.0, "S"
        worker.helped = False
        getattr(self, f"_begin_{kind}")(worker, *rest)

    def _begin_work(
        self, worker: Worker, place: str | tuple[FramePlace, ...], seconds: float, *how: str
    ) -> None:
        worker.place(PLACES[place] if isinstance(place, str) else place, self.now_s)
        worker.until_s = self.now_s + seconds
        worker.busy = "idle" not in how
        worker.state = "R" if worker.busy else "S"
        worker.writes = 5e7 if "writes" in how else 0.0
        worker.helped = "helpers" in how

    def _begin_call(self, worker: Worker, group: Group, op: str) -> None:
        worker.place(waiting_in(op), self.now_s)
        worker.waits_for = (group, group.issue(worker.rank, op, self.now_s))

    def _begin_backward(self, worker: Worker, group: Group) -> None:
        worker.place(PLACES["backward"], self.now_s)
        worker.waits_for = (group, group.issue(worker.rank, "all_reduce", self.now_s))

    def _begin_stand(self, worker: Worker, stack: tuple[FramePlace, ...], seconds: float) -> None:
        worker.place(stack, self.now_s)
        worker.until_s = self.now_s + seconds

    def _begin_step(self, worker: Worker) -> None:
        worker.steps += 1

    def _begin_freeze(self, worker: Worker, seconds: float, cpu: bool) -> None:
        worker.frozen, worker.busy, worker.state = True, cpu, "R" if cpu else "S"
        worker.until_s = self.now_s + seconds

    def _begin_blocked(self, worker: Worker, seconds: float) -> None:
        worker.frozen, worker.state = True, "D"
        worker.until_s = self.now_s + seconds

    def _begin_stop(self, worker: Worker) -> None:
        worker.stopped = True

    def _begin_die(self, worker: Worker, signal: int) -> None:
        worker.alive, worker.signal = False, signal

    def _begin_exit(self, worker: Worker) -> None:
        worker.beat_state = "exiting"
        self._beat(worker)
        worker.alive, worker.exited = False, True

    def _begin_raise(self, worker: Worker, name: str, text: str) -> None:
        self._raise(worker, name, text)

    def _raise(self, worker: Worker, name: str, text: str) -> None:
        worker.exception = Raised(type=name, message=text, stack=worker.stack)
        worker.beat_state = "raising"
        self._beat(worker)
        worker.alive = False

    def _beat(self, worker: Worker) -> None:
        worker.beats += 1
        worker.beaten_s = self.now_s
        mono_s = self.now_s + self.skew_s.get(worker.host, 0.0)
        skew_s = mono_s - self.now_s
        groups = {}
        for group in self.groups.values():
            if worker.rank in group.issued:
                groups[group.name] = GroupBeat(
                    name=group.name,
                    desc="default_pg" if group.name == "0" else "",
                    ranks=tuple(Rank(r) for r in group.ranks),
                    backend="gloo",
                    user_timeout_ms=self.limit_ms,
                    enqueued=group.issued[worker.rank] if group.counted else None,
                    started=-1,
                    completed=group.completed[worker.rank] if group.counted else None,
                    since_s=group.changed_s[worker.rank] + skew_s,
                )
        worker.last = Beat(
            host=worker.host,
            pid=worker.pid,
            ppid=1,
            process_started_s=1.7e9 + worker.began_s - self.age_s + worker.pid * 1e-6,
            rank=Rank(worker.rank),
            local_rank=worker.rank % self.per_host,
            world_size=self.world,
            restart=worker.restart,
            wall_s=1.7e9 + self.now_s,
            mono_s=mono_s,
            device=self.device,
            groups=groups,
            stack=worker.stack,
            threads=worker.threads,
            stack_since_s=worker.stack_since_s + skew_s,
            steps=worker.steps,
            state=worker.beat_state,
            exception=worker.exception,
            read_bytes=0,
            write_bytes=worker.bytes_,
            cpu_s=worker.cpu_s,
        )

    def _report(self, host: str) -> NodeReport:
        processes = [
            ProcessReport(
                beat=w.last,
                facts=ProcessFacts(
                    alive=w.alive,
                    state=("T" if w.stopped else w.state) if w.alive else None,
                    cpu_s=w.cpu_s if w.alive else None,
                    family_cpu_s=w.family_s if w.alive else None,
                    helpers=int(w.helped) if w.alive else None,
                    read_bytes=0 if w.alive else None,
                    write_bytes=w.bytes_ if w.alive else None,
                    stored_bytes=w.stored if w.alive else None,
                    exit_code=0 if w.exited else None,
                    signal=w.signal,
                ),
                beats=w.beats,
                beat_age_s=self.now_s - w.beaten_s,
            )
            for w in self.workers
            if w.host == host and w.started and w.last is not None
        ]
        return NodeReport(
            host=host,
            wall_s=1.7e9 + self.now_s,
            mono_s=self.now_s + self.skew_s.get(host, 0.0),
            processes=tuple(processes),
            launcher_alive=self.launcher_alive,
        )


@dataclass(slots=True)
class Watched:
    """What the monitor did.

    Attributes:
        stream: inputs with the monitor's time.
        actions: with the time.
    """

    monitor: Monitor
    stream: list[tuple[float, Input]] = field(default_factory=list)
    actions: list[tuple[float, Action]] = field(default_factory=list)

    def notes(self, *kinds: NoteKind) -> list[tuple[float, Note]]:
        return [(t, a) for t, a in self.actions if isinstance(a, Note) and a.kind in kinds]

    @property
    def confirmed(self) -> list[tuple[float, Note]]:
        return self.notes(NoteKind.HANG_CONFIRMED)

    def tell(self, event: Input, now_s: float) -> tuple[Action, ...]:
        self.stream.append((now_s, event))
        actions = self.monitor.handle(event, now_s)
        self.actions += [(now_s, action) for action in actions]
        return actions


def watch(
    job: Job,
    for_s: float,
    *,
    policy: Policy | None = None,
    answer: DumpsReady | None = None,
    answer_after_s: float = 1.5,
    drop: Callable[[NodeReport], bool] = lambda _: False,
    delay_s: Callable[[NodeReport], float] = lambda _: 0.0,
    ends: bool = False,
) -> Watched:
    """Let a monitor watch a job.

    Args:
        answer: what the rules say of dumps, if any were ordered.
        drop: reports that get lost.
        delay_s: how long a report takes.
    """
    watched = Watched(Monitor(policy))
    queue: list[tuple[float, int, Input]] = []
    for number, report in enumerate(job.run(for_s)):
        if drop(report):
            continue
        queue.append((job.now_s + delay_s(report), number, report))
        queue.sort(key=lambda item: item[:2])
        while queue and queue[0][0] <= job.now_s:
            due_s, _, event = queue.pop(0)
            for action in watched.tell(event, max(due_s, job.now_s)):
                if isinstance(action, OrderDump) and answer is not None:
                    reply = replace(answer, number=action.number)
                    queue.append((job.now_s + answer_after_s, number, reply))
                    queue.sort(key=lambda item: item[:2])
    if ends:
        watched.tell(OutputEnded(host="gn0", exit_code=0), job.now_s)
    return watched


def train(
    faults: Sequence[tuple[int, int, Act]] = (),
    *,
    step_s: float = 0.2,
    steps: int = 1_000_000,
    tokenise_s: dict[int, float] | None = None,
    jitter: float = 0.3,
) -> Program:
    """A plain training loop with things that happen at a step on a rank.

    Args:
        faults: (step, rank, act); an act is done before the step's collective.
        tokenise_s: how long a rank prepares data before the first call.
    """

    def program(worker: Worker) -> Generator[Act, None, None]:
        dice = random.Random(f"{worker.job.seed}-{worker.rank}")
        world = worker.job.groups["0"]
        if tokenise_s is not None:
            yield ("work", "data", tokenise_s.get(worker.rank, 0.1), "writes")
            yield ("call", world, "barrier")
        for step in range(steps):
            yield ("work", "step", step_s * (1 + jitter * dice.random()))
            for at, rank, act in faults:
                if at == step and rank == worker.rank:
                    worker.job.fault_s = min(worker.job.fault_s, worker.job.now_s)
                    yield act
            yield ("call", world, "all_reduce")
            yield ("step",)

    return program
