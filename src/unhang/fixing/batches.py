"""A smaller batch with more accumulation, computed from what the file holds.

A remedy knows no numbers of the user's: written as it stands it could change the batch of an
optimizer step, and with it the training. The batch of a GPU is halved, and the product kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unhang.fixing.refusal import Refusal
from unhang.fixing.target import Language, Target
from unhang.fixing.wishes import Wish
from unhang.linting.document import Document
from unhang.linting.readers.json import read_json
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.toml import read_toml
from unhang.linting.readers.yaml import read_yaml

_BATCHES = frozenset(
    {
        "per_device_train_batch_size",
        "micro_batch_size",
        "train_micro_batch_size_per_gpu",
        "batch_size_training",
        "batch_size",
    }
)
_ACCUMULATIONS = frozenset({"gradient_accumulation_steps", "accum_freq"})
_READERS = {
    Language.YAML: read_yaml,
    Language.JSON: read_json,
    Language.TOML: read_toml,
    Language.SHELL: read_shell,
}


def keep_product(target: Target, wishes: Sequence[Wish]) -> tuple[Wish, ...]:
    """Return the wishes with a batch and an accumulation that fit what the file holds.

    Raises:
        Refusal: the batch is 1 already, or the file leaves it to somebody else (`auto`).
    """
    batch = next((w for w in wishes if _key(w.name) in _BATCHES), None)
    steps = next((w for w in wishes if _key(w.name) in _ACCUMULATIONS), None)
    if batch is None or steps is None or target.language not in _READERS:
        return tuple(wishes)
    held = _held(target)
    size = held.get(_key(batch.name))
    if size is not None and not size.isdigit():
        raise Refusal(f"`{batch.name}` is {size}: halve it where it is decided")
    if size is None or int(size) == 0:
        return tuple(wishes)
    if int(size) == 1:
        raise Refusal(f"`{batch.name}` is 1 already")
    accumulated = held.get(_key(steps.name), "1")
    if not accumulated.isdigit():
        raise Refusal(f"`{steps.name}` is {accumulated}: double it where it is decided")
    half = int(size) // 2
    # Rounded up: the batch of an optimizer step never shrinks.
    more = -(-int(size) * int(accumulated) // half)
    values = {batch.name: half, steps.name: more}
    return tuple(
        replace(w, value=values[w.name], raw=str(values[w.name]) if w.raw else "")
        if w.name in values
        else w
        for w in wishes
    )


def _held(target: Target) -> Mapping[str, str]:
    document = Document(name=target.path)
    _READERS[target.language](document, target.text)
    return {_key(s.name): s.value for s in document.settings if s.value is not None}


def _key(name: str) -> str:
    return name.lstrip("+-").rpartition(".")[2].replace("-", "_")
