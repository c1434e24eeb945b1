"""From the stack of a beat to where the rank stands, with the classifier that dead stacks have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from unhang.assemble.stack_state import own_code, read_stack
from unhang.live.messages.reports import Beat, FramePlace
from unhang.model.events import Frame, StackKind, ThreadStack
from unhang.model.phases import Phase
from unhang.model.provenance import NOBODY, Provenance
from unhang.model.stack_states import Doing
from unhang.settings.frames import packaged

_PHASES = {phase.value: phase for phase in Phase}
_STACK = Provenance(artifact="", line=None, text="")
_PAIRS = ("send", "recv", "batch_isend_irecv", "_communicate")
_AWAIT = "wait"
"""Method of the handle of a call that was begun before, and of a store; both are native."""
_LEAVES = frozenset({"destroy_process_group", "_abort_process_group", "_shutdown_backend"})
_TORCH = "torch/distributed/distributed_c10d.py"
_PLUMBING = frozenset({"threading.py", "queue.py", "selectors.py", "socket.py"})
_SERVICES = (
    *("multiprocessing/pool.py", "multiprocessing/queues.py", "multiprocessing/connection.py"),
    *("concurrent/futures/", "tqdm/", "wandb/", "tensorboard/", "torch/utils/"),
)
"""Where threads of libraries wait for orders of their own process."""
_TASK = ("concurrent/futures/thread.py", "run")
_SERVES = "selectors.py"
"""Where a thread stands that serves others, and has nothing to do."""
_ASKS = ("genericpath.py", "posixpath.py", "pathlib.py", "pathlib/_local.py", "glob.py")
"""Where Python looks for a file."""
MEETING = "init_process_group"
"""The first call that needs all ranks of a job."""
_SEEKS = "_create_c10d_store"
_OUTSIDE = (
    *("socket.py", "ssl.py", "selectors.py", "client.py", "subprocess.py"),
    *("popen_fork.py", "multiprocessing/pool.py"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatStack:
    """Where the main thread of a rank stands.

    Attributes:
        phase: of the work, or the phase in which it waits.
        certain: a library's own frame shows the phase, and no name of the program.
        fits: what runs below a function is what its name says.
        op: the call it waits in, as the program calls it.
        place: `function (file:line)` of the program's own code nearest to it.
        own: its innermost frame is the program's own: it is in no library.
        looks: the same, or the program's own code looks for a file.
        calls_back: what shows the phase has called the program's own code.
        outside: it waits for a socket or a child process, so that others may be at work for it.
        handle: it waits by a handle, which does not tell in what.
        pairs: it waits in a point-to-point operation, which only two ranks number alike.
        leaves: it takes its process groups down.
        helped: another thread may do something by itself: issue a call in place of the main thread,
            wait for an answer, let the main thread go on.
        seeks: it looks for the store at which all meet, and has not found it.
        known: there is a stack at all.
        declared: the program itself has told the phase.
    """

    doing: Doing
    phase: Phase | None = None
    certain: bool = False
    fits: bool = False
    op: str | None = None
    place: str = ""
    own: bool = False
    looks: bool = False
    calls_back: bool = False
    outside: bool = False
    handle: bool = False
    pairs: bool = False
    leaves: bool = False
    helped: bool = False
    seeks: bool = False
    known: bool = True
    declared: bool = False

    @property
    def waits(self) -> bool:
        """The stack by itself shows that it waits for other ranks."""
        return self.doing is Doing.WAITS

    @property
    def meets(self) -> bool:
        """It waits for the others to come, at the start of the job."""
        return self.op == MEETING

    @property
    def may_wait(self) -> bool:
        """It may wait in native code below the step, or where it needs a result of the GPU."""
        return self.doing in {Doing.WAITS, Doing.STEPS, Doing.DEVICE}


NOWHERE = BeatStack(doing=Doing.CODE, known=False)
"""A probe could not take a stack."""


def where(beat: Beat) -> BeatStack:
    """Where a rank stands: a main thread that waits for another one is where that one works."""
    at = _of_stacks(beat)
    return at if beat.phase is None else _as_declared(at, beat.phase)


def _as_declared(at: BeatStack, word: str) -> BeatStack:
    """The program knows its phase better than names do; how it waits the stack alone tells."""
    phase = _PHASES.get(word)
    if phase is None or at.leaves or at.seeks:
        return at
    doing = Doing.WORKS if at.doing is Doing.CODE else at.doing
    return replace(at, doing=doing, phase=phase, certain=True, declared=True)


def _of_stacks(beat: Beat) -> BeatStack:
    main = standpoint(beat.stack, beat.calling)
    if beat.threads and any(_may_act(stack) for stack in beat.threads):
        main = replace(main, helped=True)
    if main.doing is not Doing.LOCKED or main.phase is not None:
        return main
    others = (standpoint(stack) for stack in beat.threads if not stack[0].file.endswith(_SERVES))
    other = next((o for o in others if o.phase is not None or o.outside), main)
    return replace(other, place=other.place or main.place, helped=main.helped)


@lru_cache(maxsize=4_096)
def _may_act(stack: tuple[FramePlace, ...]) -> bool:
    """Whether a helper thread may do something by itself: all but those that wait for orders.

    A timer of `threading` is one that will; so is a pool's thread that runs a task.
    """
    told = [(packaged(frame.file), frame.function) for frame in stack]
    told = [(file, function) for file, function in told if file not in _PLUMBING]
    idle = all(file.startswith(_SERVICES) for file, _ in told)
    return not told or not idle or told[0] == _TASK


@lru_cache(maxsize=4_096)
def standpoint(stack: tuple[FramePlace, ...], calling: str | None = None) -> BeatStack:
    """Judge one stack, innermost frame first, and the native method that its end calls."""
    if not stack:
        return NOWHERE
    frames = tuple(Frame(file=f.file, line=f.line, function=f.function) for f in reversed(stack))
    thread = _thread(frames)
    reading = read_stack(thread)
    innermost = _thread(frames[-1:])
    op = reading.op if reading.doing is Doing.WAITS else None
    own = own_code(innermost, read_stack(innermost)) != ""
    asking = next((f for f in reversed(frames) if not f.file.endswith(_ASKS)), frames[-1])
    looks = own or own_code(_thread((asking,)), read_stack(_thread((asking,)))) != ""
    below = _thread(frames[reading.at + 1 :])
    handle = calling == _AWAIT and own and reading.doing in {Doing.CODE, Doing.WORKS}
    leaves = any(f.function in _LEAVES and f.file.endswith(_TORCH) for f in stack)
    seeks = stack[0].function == _SEEKS
    return BeatStack(
        doing=Doing.WAITS if handle else reading.doing,
        phase=Phase.TEARDOWN if leaves else Phase.INIT if seeks else reading.phase,
        certain=reading.phase is not None and reading.certain,
        fits=reading.fits,
        op=op,
        place=own_code(thread, reading) or own_code(thread, read_stack(innermost)),
        own=own,
        looks=looks,
        calls_back=own_code(below, replace(reading, at=-1)) != "",
        outside=any(f.file.endswith(_OUTSIDE) for f in stack[:3]),
        handle=handle,
        pairs=op is not None and op.startswith(_PAIRS),
        leaves=leaves,
        seeks=seeks,
    )


def _thread(frames: tuple[Frame, ...]) -> ThreadStack:
    return ThreadStack(
        kind=StackKind.PYTHON, frames=frames, main=True, source=_STACK, origin=NOBODY
    )
