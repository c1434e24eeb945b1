"""What a plan is asked for: the model, how it is trained, and on what."""

from __future__ import annotations

from dataclasses import dataclass

from unhang.architectures import Architecture
from unhang.errors import UsageError
from unhang.model.plan import Method, Offload, Precision, SaveStyle, Strategy
from unhang.model.provenance import Message

RECOMPUTE = ("none", "full")
OPTIMIZERS = {"adamw": 2.0, "adamw-8bit": 0.5, "lion": 1.0, "sgd": 0.0, "sgd-momentum": 1.0}
"""States per trained parameter, in elements of the optimizer's type (8-bit: a quarter of fp32,
and one fp32 scale for each block of 256 elements)."""
_MOST = 10**9
_ADAPTED = frozenset({"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The input of a plan; sizes in bytes, speeds in bytes per second, durations in seconds.

    Attributes:
        model: its tensors; or `parameters` where only their number is known.
        world: GPUs of the job.
        gpus_per_host: ranks that share one host.
        tensor_parallel, pipeline_parallel, expert_parallel: degrees; data parallelism is the rest.
        context_parallel: ranks of the data-parallel part that share the tokens of one sample.
        seq, batch: tokens of a sample, samples of one rank and step.
        local_loss: whether a rank of a contrastive loss compares its own samples only with all.
        flash: whether attention never writes its scores to memory.
        fused_loss: whether the loss is computed in pieces, so that logits are never whole.
        lora_rank, lora_targets: of the adapters.
        write_speed: of one writer to the checkpoint's storage.
        write_speed_total: of all writers together, where the storage has such a limit.
        gather_speed: of bringing the shards to rank 0.
        copy_speed: of one rank's copy to host memory, which an asynchronous save begins with.
        fp32_gradients: whether gradients are summed up in fp32 whatever the weights are.
        save_optimizer: whether a checkpoint holds what is needed to resume.
        data_bytes: of the data set, where every process holds it in memory.
        sample_bytes: of one sample as a loader returns it.
        save_s: the longest save that was measured; a planned one is never taken for shorter.
        eval_s, prepare_s: of what rank 0 does alone while the others wait.
        assumed: what was taken for granted where nobody told, in words.
    """

    model: Architecture
    world: int = 1
    gpus_per_host: int = 8
    strategy: Strategy = Strategy.FSDP
    method: Method = Method.FULL
    precision: Precision = Precision.BF16_MIXED
    offload: Offload = Offload.NONE
    optimizer: str = "adamw"
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    expert_parallel: int = 1
    context_parallel: int = 1
    seq: int | None = None
    batch: int = 1
    recompute: str = "none"
    flash: bool = True
    fused_loss: bool = False
    fp32_gradients: bool = False
    local_loss: bool = False
    lora_rank: int = 16
    lora_targets: frozenset[str] = frozenset({"q_proj", "v_proj"})
    gpu_memory: int | None = None
    host_memory: int | None = None
    reserve: int = 1_500_000_000
    write_speed: int | None = None
    write_speed_total: int | None = None
    gather_speed: int | None = None
    copy_speed: int | None = None
    save_style: SaveStyle | None = None
    save_optimizer: bool = True
    data_bytes: int | None = None
    sample_bytes: int | None = None
    workers: int = 0
    save_s: float | None = None
    eval_s: float | None = None
    prepare_s: float | None = None
    framework: str | None = None
    framework_version: str | None = None
    assumed: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            UsageError: a number is not positive, or degrees do not divide the world; the message
                names the field.
        """
        for name in ("world", "gpus_per_host", "tensor_parallel", "pipeline_parallel",
                     "expert_parallel", "context_parallel", "batch", "lora_rank"):  # fmt: skip
            if not 1 <= getattr(self, name) <= _MOST:
                raise UsageError(f"{name} is {getattr(self, name)}; expected 1 to {_MOST:,}")
        if self.seq is not None and not 1 <= self.seq <= _MOST:
            raise UsageError(f"seq is {self.seq}; expected 1 to {_MOST:,}")
        if self.workers < 0:
            raise UsageError(f"workers is {self.workers}; expected 0 or more")
        if self.optimizer not in OPTIMIZERS:
            known = ", ".join(OPTIMIZERS)
            raise UsageError(f"optimizer is {self.optimizer!r}; expected one of {known}")
        split = self.tensor_parallel * self.pipeline_parallel
        if self.world % split:
            raise UsageError(
                f"world is {self.world}, not a multiple of tensor_parallel x pipeline_parallel = "
                f"{split}; expected a world that they divide"
            )
        for name in ("expert_parallel", "context_parallel"):
            if self.data_parallel % getattr(self, name):
                raise UsageError(
                    f"{name} is {getattr(self, name)}; expected a divisor of the "
                    f"{self.data_parallel} data-parallel ranks"
                )
        unknown = self.lora_targets - _ADAPTED
        if unknown:
            raise UsageError(
                f"lora_targets holds {', '.join(sorted(unknown))}; expected some of "
                f"{', '.join(sorted(_ADAPTED))}"
            )

    @property
    def data_parallel(self) -> int:
        """Ranks that see different data and hold the same part of the model."""
        return self.world // (self.tensor_parallel * self.pipeline_parallel)

    @property
    def tokens(self) -> int | None:
        """Tokens of a sample on one rank; None where nobody told."""
        whole = self.model.tokens or self.seq
        return None if whole is None else -(-whole // self.context_parallel)

    @property
    def shards(self) -> int:
        """Ranks over which one copy of the model's state is spread."""
        if self.strategy is Strategy.HSDP:
            return min(self.gpus_per_host, self.data_parallel)
        return self.data_parallel

    @property
    def hosts(self) -> int:
        """Hosts of the job."""
        return -(-self.world // self.gpus_per_host)

    @property
    def ranks_per_host(self) -> int:
        """Ranks of a full host."""
        return min(self.world, self.gpus_per_host)

    @property
    def shards_weights(self) -> bool:
        """Whether weights are gathered unit by unit."""
        return self.strategy in (
            Strategy.ZERO3, Strategy.FSDP, Strategy.FSDP_GRAD_OP, Strategy.HSDP
        )  # fmt: skip
