"""Bytes and seconds of a checkpoint, for each way to save it."""

from __future__ import annotations

from math import ceil

from unhang.model.plan import Method, Save, SaveStyle, Strategy
from unhang.model.provenance import say
from unhang.planning.request import PlanRequest
from unhang.planning.state import whole, widths

_COPY = 10**9
"""Bytes per second of a rank's copy to host memory where nobody measured. PyTorch's asynchronous
save copies to memory that is new and not pinned (`async_save` in torch 2.13 makes a `DefaultStager`
without pinning for each save)."""
_GATHER = 10**10
"""Bytes per second of a gather where nobody told: one 100 Gbit/s link, or PCIe within a host."""


def weight_bytes(request: PlanRequest) -> int:
    """Bytes of the file that holds what was trained: the model, or the adapters."""
    held, width = whole(request), widths(request)
    return held.trained * width.weights


def full_bytes(request: PlanRequest) -> int:
    """Bytes of a checkpoint, with what is needed to resume where the request says so."""
    if not request.save_optimizer:
        return weight_bytes(request)
    width = widths(request)
    each = width.weights + width.optimizer + width.master
    return ceil(whole(request).trained * each)


def style_of(request: PlanRequest) -> SaveStyle:
    """The way that is asked for, or the one that the strategy's frameworks use by default."""
    if request.save_style is not None:
        return request.save_style
    zero = request.strategy in (Strategy.ZERO1, Strategy.ZERO2, Strategy.ZERO3)
    # DeepSpeed writes states in parts; weights alone are gathered (`save_16bit_model`).
    return SaveStyle.SHARDED if zero and request.save_optimizer else SaveStyle.RANK0


def save(request: PlanRequest, style: SaveStyle) -> Save:
    """How large a checkpoint is, and how long the others wait for it."""
    size = full_bytes(request)
    if style is SaveStyle.RANK0:
        return _by_rank0(request, size)
    return _by_all(request, size, style)


def _by_rank0(request: PlanRequest, size: int) -> Save:
    moved = _elsewhere(request, size)
    # Gathered to the GPU, and copied to host memory (`cpu_offload`), one after the other.
    gather = moved / (request.gather_speed or _GATHER) + moved / (request.copy_speed or _COPY)
    write = None if request.write_speed is None else size / request.write_speed
    total = None if write is None else gather + write
    values = {"size": size, "speed": request.write_speed}
    how = (
        say(
            "plan.save_rank0",
            "Rank 0 gathers {moved:bytes} and copies it to host memory ({gather_s:s}, assumed"
            " without --gather-speed and --copy-speed) and writes {size:bytes} at {speed:rate};"
            " all others wait.",
            **values,
            moved=moved,
            gather_s=gather,
        )
        if gather
        else say(
            "plan.save_rank0_whole",
            "Rank 0, which holds it all, writes {size:bytes} at {speed:rate}; all others wait.",
            **values,
        )
    )
    return Save(style=SaveStyle.RANK0, size_bytes=size, wait_s=total, total_s=total, how=how)


def _elsewhere(request: PlanRequest, size: int) -> int:
    """Bytes of a checkpoint that rank 0 does not hold whole by itself."""
    split = request.tensor_parallel * request.pipeline_parallel > 1
    if split or (request.shards_weights and request.shards > 1):
        return size
    # The optimizer's part of ZeRO-1 and -2 is spread though the weights are not.
    return size - weight_bytes(request) if request.shards > 1 and _spreads(request) else 0


def _by_all(request: PlanRequest, size: int, style: SaveStyle) -> Save:
    spread = request.shards_weights or _spreads(request)
    writers = request.world if spread else request.tensor_parallel * request.pipeline_parallel
    speed = request.write_speed
    if speed is not None and writers > 1:
        speed = min(speed * writers, request.write_speed_total or speed * writers)
    write = None if speed is None else size / speed
    copy = size / writers / (request.copy_speed or _COPY)
    total = None if write is None else write + (copy if style is SaveStyle.ASYNC else 0.0)
    if style is SaveStyle.ASYNC:
        values = {"writers": writers, "size": size, "speed": speed, "copy_s": copy}
        how = (
            say(
                "plan.save_async_assumed",
                "{writers} {writers:|writer copies|writers copy} to host memory ({copy_s:s} at"
                " 1 GB/s, assumed: --copy-speed or --storage) and {writers:|writes|write}"
                " {size:bytes} at {speed:rate} beside training. A save that begins before that"
                " ends waits for it.",
                **values,
            )
            if request.copy_speed is None
            else say(
                "plan.save_async",
                "{writers} {writers:|writer copies|writers copy} to host memory ({copy_s:s}) and"
                " {writers:|writes|write} {size:bytes} at {speed:rate} beside training. A save"
                " that begins before that ends waits for it.",
                **values,
            )
        )
    else:
        how = say(
            "plan.save_sharded",
            "{writers} {writers:|writer writes|writers write} {size:bytes} at {speed:rate}"
            " together; nobody gathers.",
            writers=writers,
            size=size,
            speed=speed,
        )
    return Save(
        style=style,
        size_bytes=size,
        wait_s=copy if style is SaveStyle.ASYNC else write,
        total_s=total,
        how=how,
    )


def _spreads(request: PlanRequest) -> bool:
    return request.strategy is not Strategy.DDP and request.method is Method.FULL
