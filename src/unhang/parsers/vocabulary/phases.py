"""From the label of a progress bar, or a frame of a stack, to the phase that it shows."""

from __future__ import annotations

from functools import cache, lru_cache

from unhang import lazy_re as re
from unhang.model.phases import Phase
from unhang.model.toml import load
from unhang.settings.frames import frame_meaning
from unhang.settings.log_marks import bar_labels

_DATA = load("unhang.parsers.vocabulary", "data/phases.toml")

_LABELS = tuple(
    (Phase(row["phase"]), re.compile("|".join(row["texts"]), re.IGNORECASE))
    for row in _DATA["labels"]
)
_FRAMES = tuple(
    (Phase(row["phase"]), re.compile("|".join(row["texts"]))) for row in _DATA["frames"]
)

_WAIT = re.compile(
    r"torch/distributed/(?:distributed_c10d|c10d_logger|_functional_collectives)\.py"
    r"|:(?:barrier|all_reduce|all_gather|broadcast|reduce_scatter|monitored_barrier)\w*$"
    r"|filelock/\w+\.py:(?:acquire|__enter__)$|file_baton\.py:wait$|shm_broadcast\.py:(?:acquire_(?:read|write)|dequeue|recv)|ncclx?_?(?:allreduce|allgather)"
)


@lru_cache(maxsize=4096)
def phase_of_label(label: str) -> Phase | None:
    """Return the phase that the text before a progress bar tells, or None.

    >>> phase_of_label("Running tokenizer on dataset (num_proc=8)")
    <Phase.DATA: 'data'>
    >>> phase_of_label("Validation DataLoader 0")
    <Phase.EVAL: 'eval'>
    """
    if not label:
        return None
    return next((phase for phase, words in _labels() if words.search(label)), None)


@cache
def _labels() -> tuple[tuple[Phase, re.Pattern[str]], ...]:
    """Of released packages, all labels of a phase in one pattern; then the general ones."""
    known: dict[Phase, list[str]] = {}
    for phase, text in bar_labels():
        known.setdefault(phase, []).append(text)
    own = ((phase, re.compile("|".join(texts))) for phase, texts in known.items())
    return (*own, *_LABELS)


def phase_of_frame(frame: str) -> Phase | None:
    """Return what a rank does that stands in `file:function`, or None; an import shows nothing.

    Only libraries are known; what a program calls its functions tells nothing for certain.

    >>> phase_of_frame("flashinfer/jit/core.py:build_and_load")
    <Phase.COMPILE: 'compile'>
    >>> phase_of_frame("torch/_dynamo/symbolic_convert.py:<module>")
    """
    if frame.endswith(":<module>"):
        return None
    known = next((phase for phase, words in _FRAMES if words.search(frame)), None)
    file, _, function = frame.rpartition(":")
    meaning = frame_meaning(file, function) if known is None else None
    return known if meaning is None else meaning.phase


def is_wait(frame: str) -> bool:
    """Whether the frame `file:function` is a collective's wait.

    >>> is_wait("torch/distributed/distributed_c10d.py:barrier")
    True
    """
    return _WAIT.search(frame) is not None
