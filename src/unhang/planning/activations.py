"""What a forward pass keeps for the backward pass.

The terms follow the tensors that PyTorch's autograd saves for a decoder of transformers with
scaled-dot-product attention; measured with `torch.autograd.graph.saved_tensors_hooks` they agree to
the byte for Llama in bf16 and fp32. The method is that of Korthikanti et al., "Reducing Activation
Recomputation in Large Transformer Models" (2022), section 4, for gated MLPs and grouped queries.
"""

from __future__ import annotations

from math import ceil

from unhang.architectures import Architecture
from unhang.planning.request import PlanRequest
from unhang.planning.state import widths

_FP32 = 4


def per_layer(request: PlanRequest) -> int | None:
    """Bytes that one layer saves for one micro-batch; None where sizes are unknown."""
    token = _per_token(request)
    if token is None or request.seq is None:
        return None
    return ceil(token * request.seq * request.batch)


def kept_layers(request: PlanRequest) -> int:
    """Layers of the fullest stage whose activations are alive at once."""
    own = ceil(request.model.layers / request.pipeline_parallel)
    return own * request.pipeline_parallel  # 1F1B: the first stage holds as many micro-batches


def total(request: PlanRequest) -> int | None:
    """Bytes at the peak: of all layers, or of their inputs and one layer that is recomputed."""
    layer = per_layer(request)
    if layer is None or request.seq is None or request.model.hidden is None:
        return None
    layers = kept_layers(request)
    if request.recompute == "none":
        return layer * layers
    entry = request.seq * request.batch * request.model.hidden * widths(request).compute
    return entry * layers + layer


def of_loss(request: PlanRequest) -> int | None:
    """Bytes of logits, log-probabilities and their gradient, and of the last norm."""
    model = request.model
    if model.vocab is None or model.hidden is None or request.seq is None:
        return None
    compute = widths(request).compute
    vocab = ceil(model.vocab / request.tensor_parallel)
    logits = compute + 2 * _FP32
    return request.seq * request.batch * (logits * vocab + (_FP32 + 2 * compute) * model.hidden)


def _per_token(request: PlanRequest) -> float | None:
    model = request.model
    if None in (model.hidden, model.heads, model.kv_heads, model.head_dim, model.width):
        return None
    assert model.hidden is not None
    compute, tp = widths(request).compute, request.tensor_parallel
    norms = 2 * (_FP32 + 2 * compute) * model.hidden + 2 * _FP32
    return norms + (_attention(request, model, compute) + _mlp(model, compute)) / tp


def _attention(request: PlanRequest, model: Architecture, compute: int) -> float:
    assert model.heads is not None
    assert model.kv_heads is not None
    assert model.head_dim is not None
    q, kv = model.heads * model.head_dim, model.kv_heads * model.head_dim
    kept = compute * (2 * q + 2 * kv) + _FP32 * model.heads
    if not request.flash:
        assert request.seq is not None
        kept += model.heads * request.seq * (_FP32 + compute)
    return kept


def _mlp(model: Architecture, compute: int) -> float:
    """Gate, up, activated gate and their product; without a gate up and activated up."""
    assert model.width is not None
    kept = 4 if model.gated else 2
    return compute * kept * model.width
