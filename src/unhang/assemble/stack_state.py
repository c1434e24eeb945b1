"""From the stacks of one process, taken at one moment, to where it stands.

The main thread counts. Where it runs a backward pass, the thread that autograd runs the hooks in
counts instead; where it only serves a loop (Ray's, asyncio's), the thread that does something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.model.events import Frame, StackKind, ThreadStack
from unhang.model.forms import patterns_of
from unhang.model.phases import Phase
from unhang.model.stack_states import Doing, StackStep
from unhang.settings.frames import (
    FrameKind,
    FrameMeaning,
    bare,
    frame_meaning,
    named_meaning,
    packaged,
)

_KEPT_PARTS = 4
"""Trailing parts of a path that are kept: enough to tell the package."""

_HELPER = re.compile(
    r"_bootstrap|_bootstrap_inner|_worker|_pin_memory_loop|_feed|run_loop|serve_forever|start_thread"
)
_MAIN = re.compile(
    r"<module>|_run_module_as_main|_run_code|spawn_main|main|__libc_start_main.*|_start"
)
_LIBRARY = re.compile(
    r"-packages/|/lib/python3|^<|importlib|unhang/probe/"
    r"|^(?:torch|torchvision|torchaudio|transformers|accelerate|peft|trl|datasets|deepspeed|ray"
    r"|lightning|lightning_fabric|pytorch_lightning|megatron|vllm|sglang|wandb|numpy|pandas|PIL"
    r"|huggingface_hub|safetensors|tokenizers|triton|flash_attn|xformers|webdataset|litdata|click"
    r"|fire|hydra|multiprocessing|concurrent|asyncio|threading\.py|queue\.py|selectors\.py|socket\.py"
    r"|ssl\.py|subprocess\.py|runpy\.py|contextlib\.py|functools\.py|pickle\.py|copy\.py)"
)
"""Code that is not the program's; py-spy leaves out the folder that packages lie in."""
_WITHIN = re.compile(r"<(?:listcomp|setcomp|dictcomp|genexpr|lambda)>")
"""Parts of a function that look like functions of their own."""
_ENTRY = re.compile(
    r"_run_module_as_main|_run_code|spawn_main|_main|_bootstrap\w*|_launch|<module>"
)
_NATIVE = patterns_of(Doing, "unhang.assemble", "data/native_frames.toml")
_KERNEL = patterns_of(Doing, "unhang.assemble", "data/kernel_frames.toml")
_RUN_THE_MODEL = frozenset({Phase.EVAL, Phase.GENERATE, Phase.COMPILE})
MOVE_BYTES = frozenset({Phase.SAVE, Phase.LOAD, Phase.DATA, Phase.LOGGING})
"""Phases whose work is to read or write."""
_OWN_CALL = re.compile(
    r"_?(?:\w{1,30}_)?(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|bcast|barrier)"
    r"(?:_\w{1,40})?|_?i?(?:send|recv|receive)(?:_(?:prev|next|forward|backward|activations?|grads?"
    r"|gradients?|tensors?|obj\w*|data|meta\w*|shapes?))*",
    re.IGNORECASE,
)
_OWN_WAIT = re.compile(r"_?(?:\w{1,30}_)?(?:wait|sync|synchroni[sz]e|poll|spin|join)(?:_\w{1,40})?")
_COLLECTIVES = "torch/distributed/"
_OURS = "unhang/probe/"
"""Of a watched run, around the functions of torch that take a limit."""
_STORAGE_MODULE = re.compile(r"^(nfs|nfsv[34]|sunrpc|lustre|ptlrpc|ceph|fuse|beegfs|mmfs\w*|gpfs)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReading:
    """What one stack shows; the fields are those of `Stance`."""

    doing: Doing
    phase: Phase | None = None
    certain: bool = True
    fits: bool = False
    op: str | None = None
    at: int = -1
    """Index of the frame that decides; -1 is the innermost."""


def read_stack(stack: ThreadStack) -> StackReading:
    """What the thread does."""
    if stack.collecting:
        return StackReading(doing=Doing.COLLECTS, phase=_phase(stack.frames)[0])
    if stack.kind is StackKind.KERNEL:
        return _read_kernel(stack)
    inner = _innermost(stack.frames)
    if inner is None or inner.doing is Doing.DEVICE:
        inner = _own_wait(stack.frames, inner) or inner
    if inner is not None:
        return inner
    return StackReading(
        doing=Doing.CODE, certain=stack.kind is StackKind.PYTHON, at=_own(stack.frames)
    )


def main_thread(stacks: Sequence[ThreadStack]) -> ThreadStack:
    """The thread that tells what the process does."""
    ranked = sorted(stacks, key=_rank_of_thread)
    main = ranked[0]
    reading = read_stack(main)
    if reading.doing is Doing.STEPS and _in_backward(main):
        hooks = (s for s in ranked[1:] if _is_hook_thread(s))
        return next((s for s in hooks if read_stack(s).doing is not Doing.CODE), main)
    if reading.doing is Doing.LOCKED and reading.phase is None:
        tasks = (s for s in ranked[1:] if not _is_helper(s) or _runs_task(s))
        return next((s for s in tasks if _does_work(read_stack(s))), main)
    return main


def trimmed(stack: ThreadStack, reading: StackReading) -> tuple[StackStep, ...]:
    """The path from the outermost frame to the one that decides."""
    end = len(stack.frames) if reading.at < 0 else reading.at + 1
    if stack.kind is not StackKind.PYTHON:  # the way there is the interpreter's
        return tuple(StackStep(place=place_of(f)) for f in stack.frames[:end][-1:])
    return tuple(StackStep(place=place_of(f), line=f.line) for f in stack.frames[:end])


def place_of(frame: Frame) -> str:
    """`file:function` of a frame, with as much of the path as tells the package."""
    file = packaged(frame.file)
    kept = 1 if file.startswith("/") else _KEPT_PARTS  # a program's own folders tell nothing
    file = "/".join(file.split("/")[-kept:])
    return f"{file}:{bare(frame.function)}" if file else bare(frame.function)


def own_code(stack: ThreadStack, reading: StackReading) -> str:
    """`function (file:line)` of the program's own code nearest to the frame that decides."""
    end = len(stack.frames) if reading.at < 0 else reading.at + 1
    for frame in reversed(stack.frames[:end]):
        if _is_own(frame) and _WITHIN.fullmatch(bare(frame.function)) is None:
            file = frame.file.rpartition("/")[2]
            return f"{frame.function} ({file}:{frame.line})"
    return ""


def _innermost(frames: Sequence[Frame]) -> StackReading | None:
    """What the innermost frame that tells anything says, seen in what it is called from."""
    lock: StackReading | None = None
    for index in range(len(frames) - 1, -1, -1):
        native = _read_native(frames[index], index)
        if native is not None:
            if native.doing is Doing.LOCKED:
                lock = lock or native
                continue
            return _under_python(native, frames[:index])
        meaning = frame_meaning(frames[index].file, frames[index].function)
        if meaning is None:
            continue
        if meaning.kind is FrameKind.LOCK:
            lock = lock or StackReading(doing=Doing.LOCKED, at=index)
            continue
        if meaning.kind is FrameKind.WAIT and _is_at_work(frames[index + 1 :]):
            return lock
        return _decide(meaning, frames, index, lock)
    phase, at, certain = _phase_at(frames)
    if phase is not None:
        return StackReading(doing=Doing.WORKS, phase=phase, certain=certain, at=at)
    return lock


_PICKLES = frozenset({"_object_to_tensor", "_tensor_to_object"})


def _is_at_work(inner: Sequence[Frame]) -> bool:
    """Whether a collective is at work and does not wait yet.

    Collectives of objects pickle them, which may take long and calls the program's own code.
    """
    return any(_is_own(frame) or bare(frame.function) in _PICKLES for frame in inner)


def _decide(
    meaning: FrameMeaning, frames: Sequence[Frame], index: int, lock: StackReading | None
) -> StackReading:
    """What a known frame means where it stands."""
    outer = frames[:index]
    function = bare(frames[index].function)
    match meaning.kind:
        case FrameKind.WAIT:
            first = _outermost_wait(frames, index)
            phase, _ = _phase(outer)
            return StackReading(
                doing=Doing.WAITS, op=bare(frames[first].function), phase=phase, at=index
            )
        case FrameKind.PHASE if meaning.phase is Phase.COMPILE:
            return StackReading(doing=Doing.WORKS, phase=Phase.COMPILE, at=index)
        case FrameKind.PHASE:
            phase, at, _ = _phase_at(frames[: index + 1])
            return StackReading(doing=Doing.WORKS, phase=phase, at=at)
        case FrameKind.STEP | FrameKind.DEVICE | FrameKind.LOCK:
            phase, at, certain = _phase_at(outer)
            if phase is not None:
                runs = meaning.kind is not FrameKind.LOCK and phase in _RUN_THE_MODEL
                return StackReading(
                    doing=Doing.WORKS, phase=phase, certain=certain, fits=runs, at=at
                )
            if lock is not None:
                return lock
            step = meaning.kind is FrameKind.STEP
            return StackReading(doing=Doing.STEPS if step else Doing.DEVICE, op=function, at=index)


def _own_wait(frames: Sequence[Frame], device: StackReading | None) -> StackReading | None:
    """A wait in a collective that the program wraps itself, as the name of its function says.

    That counts where nothing runs below it but what waits: for the GPU, or by its own name.
    """
    end = len(frames) if device is None else device.at
    for index in range(end - 1, -1, -1):
        if not _is_own(frames[index]):
            if device is None:
                return None
            continue
        function = bare(frames[index].function)
        if _OWN_CALL.fullmatch(function) is not None:
            phase, _ = _phase(frames[:index])
            return StackReading(
                doing=Doing.WAITS, op=function, phase=phase, certain=False, at=index
            )
        if _OWN_WAIT.fullmatch(function) is None:
            return None
    return None


def _outermost_wait(frames: Sequence[Frame], index: int) -> int:
    """The call that the program made: `all_gather_object` rather than the `all_gather` in it.

    A framework's function around a collective of torch (`reduce` of a strategy) is no collective.
    """
    first = index
    of_torch = _COLLECTIVES in frames[index].file
    for outer in range(index - 1, -1, -1):
        meaning = frame_meaning(frames[outer].file, frames[outer].function)
        if meaning is not None and meaning.kind is FrameKind.WAIT:
            first = outer if not of_torch or _COLLECTIVES in frames[outer].file else first
        elif not (frames[outer].function.endswith("wrapper") or _OURS in frames[outer].file):
            break
    return first


def _under_python(native: StackReading, outer: Sequence[Frame]) -> StackReading:
    """What a native frame means below Python's, which know the call by its name."""
    python = _innermost(outer)
    if python is None:
        return native
    if native.doing is Doing.WAITS:
        return python if python.doing is Doing.WAITS else replace(native, phase=python.phase)
    if native.doing is Doing.STORAGE:
        fits = python.phase in MOVE_BYTES
        return replace(native, phase=python.phase, certain=python.certain, fits=fits)
    return native if python.doing is Doing.LOCKED else python


def _phase(frames: Sequence[Frame]) -> tuple[Phase | None, bool]:
    phase, _, certain = _phase_at(frames)
    return phase, certain


def _phase_at(frames: Sequence[Frame]) -> tuple[Phase | None, int, bool]:
    """The outermost phase of the frames, where it begins, and whether a library says so.

    An evaluation that loads its data is an evaluation; a save that waits for storage is a save.
    """
    for index, frame in enumerate(frames):
        meaning = frame_meaning(frame.file, frame.function)
        if meaning is not None and meaning.phase is not None:
            return meaning.phase, index, True
    for index, frame in enumerate(frames):
        meaning = named_meaning(frame.function) if _is_own(frame) else None
        if meaning is not None:
            return meaning.phase, index, False
    return None, -1, False


def _read_native(frame: Frame, index: int) -> StackReading | None:
    if frame.file.endswith(".py"):
        return None
    for doing, words in _NATIVE:
        if words.search(frame.function) is not None:
            op = frame.function.rpartition("::")[2] if doing is Doing.WAITS else None
            return StackReading(doing=doing, op=op, at=index)
    return None


def _read_kernel(stack: ThreadStack) -> StackReading:
    for index in range(len(stack.frames) - 1, -1, -1):
        frame = stack.frames[index]
        if _STORAGE_MODULE.match(frame.file) is not None:
            return StackReading(doing=Doing.STORAGE, at=index)
        for doing, words in _KERNEL:
            if words.search(frame.function) is not None:
                return StackReading(doing=doing, at=index)
    return StackReading(doing=Doing.STORAGE if stack.uninterruptible else Doing.CODE, certain=False)


def _own(frames: Sequence[Frame]) -> int:
    """Index of the innermost frame of the program itself; -1 where there is none."""
    own = (i for i in range(len(frames) - 1, -1, -1) if _is_own(frames[i]))
    return next(own, -1)


def _is_own(frame: Frame) -> bool:
    """Whether a frame is the program's, and no library's or launcher's."""
    if not frame.file.endswith(".py") or _LIBRARY.search(frame.file) is not None:
        return False
    if _ENTRY.fullmatch(frame.function) is not None and frame.function != "<module>":
        return False
    return frame_meaning(frame.file, frame.function) is None


def _rank_of_thread(stack: ThreadStack) -> tuple[int, int]:
    """The main thread first; then those that a program began, then helpers; Python's first."""
    kind = {StackKind.PYTHON: 0, StackKind.NATIVE: 1, StackKind.KERNEL: 2}[stack.kind]
    if any(bare(f.function) == "_worker_loop" for f in stack.frames):
        return 3, kind  # a loader's process, forked with its rank's command line
    if stack.main is True:
        return 0, kind
    if stack.main is None and _MAIN.fullmatch(stack.frames[0].function) is not None:
        return 0, kind
    return (2 if _is_helper(stack) else 1), kind


def _is_helper(stack: ThreadStack) -> bool:
    """A thread that some library began, or that only serves a queue."""
    return any(_HELPER.fullmatch(bare(f.function)) is not None for f in stack.frames[:3])


def _runs_task(stack: ThreadStack) -> bool:
    """A thread in which Ray runs a method of an actor that has coroutines: the actor's own work."""
    return any(bare(f.function) == "actor_method_executor" for f in stack.frames)


def _is_hook_thread(stack: ThreadStack) -> bool:
    """A thread of autograd: Python began it nowhere."""
    return stack.main is not True and not _is_helper(stack)


def _in_backward(stack: ThreadStack) -> bool:
    return any("backward" in f.function for f in stack.frames)


def _does_work(reading: StackReading) -> bool:
    return reading.doing in {Doing.WAITS, Doing.WORKS, Doing.STEPS, Doing.DEVICE}
