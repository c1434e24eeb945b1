"""What a job will need: memory, checkpoints, time limits. Sizes in bytes, durations in seconds."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.phases import Phase
from unhang.model.provenance import Message


class Strategy(enum.Enum):
    """How the model's state is spread over data-parallel ranks."""

    DDP = "ddp"
    ZERO1 = "zero1"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    FSDP = "fsdp"
    FSDP_GRAD_OP = "fsdp-grad-op"
    HSDP = "hsdp"


class Method(enum.Enum):
    """What is trained."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"


class Precision(enum.Enum):
    """In which types weights are kept and used.

    `*-mixed` keeps weights, gradients and optimizer in fp32 and computes in 16 bits (AMP, FSDP's
    MixedPrecision); `*-master` keeps 16-bit weights and gradients beside an fp32 copy for the
    optimizer (DeepSpeed, Megatron); plain names keep everything in that type.
    """

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    BF16_MIXED = "bf16-mixed"
    FP16_MIXED = "fp16-mixed"
    BF16_MASTER = "bf16-master"
    FP16_MASTER = "fp16-master"


class Offload(enum.Enum):
    """What is kept in host memory instead of the GPU's."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    ALL = "all"
    """Weights, gradients and optimizer; a GPU holds what it computes with."""


class SaveStyle(enum.Enum):
    """Who writes a checkpoint, and who waits for it."""

    RANK0 = "rank0"
    """Gathered on rank 0, which writes one file: all others wait."""
    SHARDED = "sharded"
    """Every rank writes its own part."""
    ASYNC = "async"
    """Every rank copies its part to host memory; writing goes on beside training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One line of a sum.

    Attributes:
        what: a stable word: `weights`, `gradients`, `optimizer`, `activations` …
        size_bytes: its share.
        how: how it was computed.
    """

    what: str
    size_bytes: int
    how: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one place needs.

    Attributes:
        amounts: what it is made of.
        available_bytes: what the place has, or None where nobody told.
    """

    amounts: tuple[Amount, ...]
    available_bytes: int | None = None

    @property
    def total_bytes(self) -> int:
        """The sum."""
        return sum(amount.size_bytes for amount in self.amounts)

    @property
    def fits(self) -> bool | None:
        """Whether it fits; None where the place's size is unknown."""
        return None if self.available_bytes is None else self.total_bytes <= self.available_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """One way to save.

    Attributes:
        size_bytes: of the whole checkpoint.
        wait_s: how long the ranks that do not write wait, or None without a storage speed.
        total_s: until the last byte is written, or None.
        how: the derivation.
    """

    style: SaveStyle
    size_bytes: int
    wait_s: float | None
    total_s: float | None
    how: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimit:
    """The time limit that one process group needs; `phase` is the longest that others wait for."""

    group: str
    seconds: int
    phase: Phase | None = None
    because: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveSize:
    """One collective that the job will issue, over and over."""

    op: str
    what: Message
    numel: int
    size_bytes: int
    ranks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of the request and what it brings."""

    what: Message
    gpu_bytes: int
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A planned limit as the framework writes it.

    Attributes:
        where: `python`, `cli`, `yaml`, `env`, `hydra` or `shell`.
        reaches: kinds of groups that the setting reaches.
    """

    framework: str
    where: str
    setting: str
    text: str
    reaches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything computed. Field by field the JSON contract `unhang.plan/1`.

    Attributes:
        model: name, parameters, trained parameters.
        changes: what to change first where memory does not suffice, the cheapest first.
        notes: what was left out or assumed.
    """

    model: str
    parameters: int
    trained: int
    world: int
    strategy: Strategy
    method: Method
    precision: Precision
    gpu: Memory
    host: Memory
    saves: tuple[Save, ...]
    chosen: SaveStyle
    time_limits: tuple[TimeLimit, ...]
    collectives: tuple[CollectiveSize, ...]
    changes: tuple[Change, ...] = ()
    patches: tuple[Patch, ...] = ()
    notes: tuple[Message, ...] = ()
