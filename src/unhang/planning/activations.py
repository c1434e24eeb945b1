"""What a forward pass keeps for the backward pass.

The terms follow the tensors that PyTorch's autograd saves for a decoder of transformers with
scaled-dot-product attention; measured with `torch.autograd.graph.saved_tensors_hooks` they agree to
the byte for Llama in bf16 and fp32. The method is that of Korthikanti et al., "Reducing Activation
Recomputation in Large Transformer Models" (2022), section 4, for gated MLPs and grouped queries.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from unhang.model.plan import Method
from unhang.planning.request import PlanRequest
from unhang.planning.state import widths

_FP32 = 4
_QKV = ("q_proj", "k_proj", "v_proj")
_UP = ("gate_proj", "up_proj")


def kept_layers(request: PlanRequest) -> int:
    """Layers of the fullest stage whose activations are alive at once."""
    own = ceil(request.model.layers / request.pipeline_parallel)
    return own * request.pipeline_parallel  # 1F1B: the first stage holds as many micro-batches


def total(request: PlanRequest) -> int | None:
    """Bytes at the peak: of all layers, or of their inputs and one layer that is recomputed."""
    towers = request.model.towers
    if towers:
        kept = [total(replace(request, model=tower)) for tower in towers]
        return sum(n for n in kept if n is not None)
    model, tokens = request.model, request.tokens
    token = None if tokens is None else _per_token(request, tokens)
    if token is None or tokens is None or model.hidden is None:
        return None
    layer, layers = ceil(token * tokens * request.batch), kept_layers(request)
    if request.recompute == "none":
        return layer * layers
    return tokens * request.batch * model.hidden * widths(request).compute * layers + layer


def of_loss(request: PlanRequest) -> int | None:
    """Bytes of logits, log-probabilities and their gradient, and of the last norm."""
    model = request.model
    if model.towers:
        return 2 * 3 * _FP32 * pairs(request)
    if model.vocab is None or model.hidden is None or request.tokens is None:
        return None
    compute = widths(request).compute
    vocab = ceil(model.vocab / request.tensor_parallel)
    # In pieces only the gradient of the hidden states is kept, in place of the logits.
    logits = compute * model.hidden if request.fused_loss else (compute + 2 * _FP32) * vocab
    return request.tokens * request.batch * (logits + _norm(request, compute) * model.hidden)


def pairs(request: PlanRequest) -> int:
    """Images times texts that a rank of a contrastive loss compares.

    OpenCLIP's default is all of the step with all; with `--local-loss` a rank's own with all.
    """
    everybody = request.batch * request.data_parallel
    return everybody * (request.batch if request.local_loss else everybody)


def _per_token(request: PlanRequest, tokens: int) -> float | None:
    model = request.model
    if None in (model.hidden, model.heads, model.kv_heads, model.head_dim, model.width):
        return None
    assert model.hidden is not None
    compute, tp = widths(request).compute, request.tensor_parallel
    norms = _norm(request, compute, *_QKV) + _norm(request, compute, *_UP)
    kept = _attention(request, tokens, compute) + _mlp(request, compute)
    return norms * model.hidden + 2 * _FP32 + kept / tp


def _norm(request: PlanRequest, compute: int, *readers: str) -> int:
    """Bytes for each element of a norm: its input in fp32, and what trained weights read of it."""
    scaled = compute if request.method is Method.FULL else 0
    return _FP32 + scaled + compute * _reads(request, *readers)


def _reads(request: PlanRequest, *weights: str) -> bool:
    """Whether a weight is trained, so that what it multiplies is kept for its gradient."""
    return request.method is Method.FULL or not request.lora_targets.isdisjoint(weights)


def _attention(request: PlanRequest, tokens: int, compute: int) -> float:
    model = request.model
    assert model.heads is not None
    assert model.kv_heads is not None
    assert model.head_dim is not None
    q, kv = model.heads * model.head_dim, model.kv_heads * model.head_dim
    kept = compute * (2 * q + 2 * kv) + _FP32 * model.heads
    return kept if request.flash else kept + model.heads * tokens * (_FP32 + compute)


def _mlp(request: PlanRequest, compute: int) -> float:
    """Gate, up and activated gate, or up alone; and what the down projection multiplies."""
    assert request.model.width is not None
    kept = (3 if request.model.gated else 1) + _reads(request, "down_proj")
    return compute * kept * request.model.width
