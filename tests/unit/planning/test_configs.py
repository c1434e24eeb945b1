"""What the configurations of frameworks tell a plan, each in its own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unhang import plan
from unhang.errors import UsageError
from unhang.model.plan import Method, Offload, Precision, SaveStyle, Strategy
from unhang.planning import PlanRequest, build_request

ACCELERATE = """
distributed_type: FSDP
mixed_precision: bf16
num_machines: 2
num_processes: 16
fsdp_config:
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_activation_checkpointing: true
"""
ACCELERATE_MEGATRON = """
distributed_type: MEGATRON_LM
num_processes: 16
mixed_precision: bf16
megatron_lm_config: {megatron_lm_tp_degree: 2, megatron_lm_pp_degree: 4}
"""
AXOLOTL = """
base_model: meta-llama/Llama-3.1-8B
sequence_len: 4096
micro_batch_size: 2
adapter: qlora
load_in_4bit: true
lora_r: 32
lora_target_linear: true
gradient_checkpointing: true
bf16: true
optimizer: adamw_bnb_8bit
"""
LLAMA_FACTORY = """
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
cutoff_len: 2048
finetuning_type: lora
lora_rank: 8
lora_target: all
per_device_train_batch_size: 1
bf16: true
deepspeed: ds_z3.json
"""
TORCHTUNE = """
model:
  _component_: torchtune.models.llama3_1.lora_llama3_1_8b
  lora_rank: 64
  lora_attn_modules: [q_proj, v_proj]
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 8192}
batch_size: 2
dtype: bf16
enable_activation_checkpointing: true
optimizer: {_component_: torch.optim.AdamW, lr: 3e-4}
"""
TORCHTITAN = """
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
mixed_precision_param = "bfloat16"
[parallelism]
tensor_parallel_degree = 2
pipeline_parallel_degree = 1
[activation_checkpoint]
mode = "full"
[optimizer]
name = "AdamW"
"""
NANOTRON = """
model:
  dtype: bfloat16
  model_config: {is_llama_config: true, hidden_size: 2048, intermediate_size: 8192,
    num_hidden_layers: 16, num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128256,
    tie_word_embeddings: true}
optimizer: {zero_stage: 1, accumulate_grad_in_fp32: true}
parallelism: {dp: 4, pp: 2, tp: 2}
tokens: {micro_batch_size: 2, sequence_length: 4096}
"""
NEMO = """
trainer: {devices: 8, num_nodes: 2, precision: bf16}
model:
  micro_batch_size: 1
  encoder_seq_length: 4096
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_layers: 32
  num_attention_heads: 32
  num_query_groups: 8
  vocab_size: 128256
  tensor_model_parallel_size: 4
  activations_checkpoint_granularity: full
  optim: {name: distributed_fused_adam}
"""
LIGHTNING = """
trainer: {devices: 4, num_nodes: 2, strategy: deepspeed_stage_3, precision: bf16-mixed}
model: {init_args: {model_name_or_path: mistralai/Mistral-7B-v0.1, batch_size: 2}}
"""
COMPOSER = """
model: {pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf}
max_seq_len: 2048
device_train_microbatch_size: 4
precision: amp_bf16
fsdp_config: {sharding_strategy: SHARD_GRAD_OP, activation_checkpointing: true}
optimizer: {name: decoupled_lionw}
"""
FAIRSEQ = """
common: {fp16: true}
distributed_training: {distributed_world_size: 8, ddp_backend: fully_sharded}
dataset: {batch_size: 4}
optimizer: {_name: adam}
"""
VERL = """
data: {max_prompt_length: 1024, max_response_length: 3072}
actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct, enable_gradient_checkpointing: true}
  actor: {strategy: fsdp, ppo_micro_batch_size_per_gpu: 2}
  rollout: {tensor_model_parallel_size: 4, name: vllm}
trainer: {n_gpus_per_node: 8, nnodes: 2}
"""
VERL_SCRIPT = """
# a launch script; options of the engine are not those of the training
python3 -m verl.trainer.main_ppo \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=4 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 \\
    +actor_rollout_ref.model.lora_rank=32 \\
    data.max_prompt_length=1024 data.max_response_length=3072 \\
    trainer.n_gpus_per_node=8 trainer.nnodes=$NNODES
"""
MEGATRON_SCRIPT = """
torchrun --nproc-per-node 8 --nnodes 4 pretrain_gpt.py \\
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \\
  --num-query-groups 8 --vocab-size 128256 --seq-length 4096 --micro-batch-size 1 --bf16 \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\
  --use-distributed-optimizer --recompute-granularity full
"""
OPENRLHF_SCRIPT = """
deepspeed --module openrlhf.cli.train_sft --max_len 2048 --micro_train_batch_size 2 \\
   --pretrain meta-llama/Meta-Llama-3-8B --zero_stage 3 --bf16 --gradient_checkpointing \\
   --save_path $OUT
"""
SWIFT_SCRIPT = """
NPROC_PER_NODE=4 \\
CUDA_VISIBLE_DEVICES=0,1,2,3 \\
swift sft --model Qwen/Qwen3-14B --train_type full --torch_dtype bfloat16 --max_length 4096 \\
    --deepspeed zero2_offload --use_liger_kernel true --save_only_model true
"""
AXOLOTL_PARALLEL = """
base_model: Qwen/Qwen3-30B-A3B
sequence_len: 65536
context_parallel_size: 2
dp_shard_size: 4
expert_parallel_size: 2
micro_batch_size: 1
gradient_checkpointing: true
plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]
bf16: true
fsdp_version: 2
fsdp_config: {state_dict_type: SHARDED_STATE_DICT}
"""
TORCHTITAN_WHOLE = """
[model]
name = "llama3"
flavor = "70B"
[training]
local_batch_size = 1
dtype = "bfloat16"
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 8
tensor_parallel_degree = 4
"""
KUBEFLOW = """
spec:
  trainer: {numNodes: 4, numProcPerNode: 8}
"""

SEEN: list[tuple[str, str, dict[str, Any]]] = [
    (
        "swift.sh",
        SWIFT_SCRIPT,
        {"model": 14_768_307_200, "world": 4, "strategy": Strategy.ZERO2, "recompute": "full",
         "offload": Offload.OPTIMIZER, "fused_loss": True, "save_optimizer": False},
    ),
    (
        "axolotl_parallel.yaml",
        AXOLOTL_PARALLEL,
        {"model": 30_532_122_624, "world": 16, "context_parallel": 2, "expert_parallel": 2,
         "tokens": 32_768, "fused_loss": True, "save_style": SaveStyle.SHARDED},
    ),
    (
        "torchtitan_whole.toml",
        TORCHTITAN_WHOLE,
        {"world": 64, "tensor_parallel": 4, "precision": Precision.BF16,
         "save_style": SaveStyle.SHARDED},
    ),
    (
        "accelerate.yaml",
        ACCELERATE,
        {"world": 16, "strategy": Strategy.HSDP, "precision": Precision.BF16_MIXED,
         "recompute": "full"},
    ),
    (
        "megatron_lm.yaml",
        ACCELERATE_MEGATRON,
        {"world": 16, "tensor_parallel": 2, "pipeline_parallel": 4},
    ),
    (
        "axolotl.yaml",
        AXOLOTL,
        {"model": 8_030_261_248, "seq": 4096, "batch": 2, "method": Method.QLORA, "lora_rank": 32,
         "optimizer": "adamw-8bit", "recompute": "full"},
    ),
    (
        "llama_factory.yaml",
        LLAMA_FACTORY,
        {"model": 7_615_616_512, "seq": 2048, "method": Method.LORA, "lora_rank": 8,
         "strategy": Strategy.ZERO3, "offload": Offload.OPTIMIZER},
    ),
    (
        "torchtune.yaml",
        TORCHTUNE,
        {"model": 8_030_261_248, "seq": 8192, "batch": 2, "method": Method.LORA, "lora_rank": 64,
         "precision": Precision.BF16, "recompute": "full", "optimizer": "adamw"},
    ),
    (
        "torchtitan.toml",
        TORCHTITAN,
        {"model": 8_030_261_248, "seq": 8192, "batch": 1, "tensor_parallel": 2,
         "precision": Precision.BF16_MIXED, "recompute": "full", "method": Method.FULL},
    ),
    (
        "nanotron.yaml",
        NANOTRON,
        {"model": 1_235_814_400, "world": 16, "tensor_parallel": 2, "pipeline_parallel": 2,
         "strategy": Strategy.ZERO1, "precision": Precision.BF16_MASTER, "seq": 4096, "batch": 2},
    ),
    (
        "nemo.yaml",
        NEMO,
        {"model": 8_030_261_248, "world": 16, "gpus_per_host": 8, "tensor_parallel": 4,
         "seq": 4096, "recompute": "full", "optimizer": "adamw"},
    ),
    (
        "lightning.yaml",
        LIGHTNING,
        {"model": 7_241_732_096, "world": 8, "strategy": Strategy.ZERO3, "batch": 2},
    ),
    (
        "composer.yaml",
        COMPOSER,
        {"model": 6_738_415_616, "strategy": Strategy.FSDP_GRAD_OP, "batch": 4, "seq": 2048,
         "recompute": "full", "optimizer": "lion"},
    ),
    (
        "fairseq.yaml",
        FAIRSEQ,
        {"world": 8, "strategy": Strategy.FSDP, "precision": Precision.FP16_MIXED, "batch": 4},
    ),
    (
        "verl.yaml",
        VERL,
        {"model": 7_615_616_512, "world": 16, "seq": 4096, "batch": 2, "tensor_parallel": 1,
         "recompute": "full", "strategy": Strategy.FSDP},
    ),
    (
        "verl.sh",
        VERL_SCRIPT,
        {"model": 7_615_616_512, "world": 8, "seq": 4096, "tensor_parallel": 1,
         "method": Method.LORA, "lora_rank": 32},
    ),
    (
        "megatron.sh",
        MEGATRON_SCRIPT,
        {"model": 8_030_261_248, "world": 32, "tensor_parallel": 2, "pipeline_parallel": 4,
         "strategy": Strategy.ZERO1, "precision": Precision.BF16_MASTER, "seq": 4096},
    ),
    (
        "openrlhf.sh",
        OPENRLHF_SCRIPT,
        {"model": 8_030_261_248, "strategy": Strategy.ZERO3, "seq": 2048, "batch": 2,
         "recompute": "full"},
    ),
    ("kubeflow.yaml", KUBEFLOW, {"world": 32, "gpus_per_host": 8}),
]  # fmt: skip


def _request(path: Path, model: str | None = None) -> PlanRequest:
    return build_request(model, [str(path)])


@pytest.mark.parametrize(("name", "text", "told"), SEEN, ids=[name for name, *_ in SEEN])
def test_what_a_configuration_tells(
    tmp_path: Path, name: str, text: str, told: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(text)
    zero = {"stage": 3, "offload_optimizer": {"device": "cpu"}}
    (tmp_path / "ds_z3.json").write_text(json.dumps({"zero_optimization": zero}))
    options = {} if "world" in told else {"world": 8}
    model = None if "model" in told else "7B"
    request = build_request(model, [str(tmp_path / name)], **options)
    found = {field: getattr(request, field) for field in told if field != "model"}
    assert found == {field: value for field, value in told.items() if field != "model"}
    if "model" in told:
        assert request.model.parameters == told["model"]


def test_what_is_offloaded_stands_in_the_host() -> None:
    kept = plan("7B", world=8, strategy="zero3")
    away = plan("7B", world=8, strategy="zero3", offload="optimizer")
    on_gpu = {a.what: a.size_bytes for a in kept.gpu.amounts}
    on_host = {a.what: a.size_bytes for a in away.host.amounts}
    assert "optimizer" not in {a.what for a in away.gpu.amounts}
    assert on_host["optimizer"] == 8 * on_gpu["optimizer"]


def test_a_model_beside_its_configuration(tmp_path: Path) -> None:
    sizes = {"hidden_size": 96, "num_hidden_layers": 3, "num_attention_heads": 6, "vocab_size": 517}
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "config.json").write_text(json.dumps({"model_type": "llama", **sizes}))
    (tmp_path / "c.yaml").write_text("model_name_or_path: ./small\nbf16: true\n")
    assert _request(tmp_path / "c.yaml").model.hidden == 96


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\necho hello\n", "--\n", "x=$Y --a $B\n", "\\\n" * 50, "=" * 100, "--=1"]
)
def test_a_script_that_tells_nothing_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.sh").write_text(text)
    with pytest.raises(UsageError) as error:
        _request(tmp_path / "run.sh", "7B")
    assert "\n" not in str(error.value)


def test_what_was_taken_for_granted_is_told(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("base_model: meta-llama/Llama-3.1-8B\ndeepspeed: deepspeed/mine.json\n")
    keys = [note.key for note in plan(sources=[str(path)]).notes]
    assert keys == ["plan.unread", "plan.no_gpus", "plan.no_seq"]
    path.write_text("base_model: Qwen/Qwen3-8B\nsequence_len: 64\ndeepspeed: zero/zero3.json\n")
    made = plan(sources=[str(path)], world=8)
    assert made.strategy is Strategy.ZERO3
    assert [note.key for note in made.notes] == ["plan.brought"]
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero/zero3.json").write_text('{"zero_optimization": {"stage": 2}}')
    made = plan(sources=[str(path)], world=8)
    assert made.strategy is Strategy.ZERO2  # what is there counts, whatever its name says
    assert made.notes == ()


def test_an_engine_on_the_same_gpus_is_told(tmp_path: Path) -> None:
    path = tmp_path / "verl.yaml"
    path.write_text(VERL.replace("name: vllm", "name: vllm, gpu_memory_utilization: 0.6"))
    assert [note.key for note in plan(sources=[str(path)]).notes] == ["plan.engine"]


def test_tokens_of_a_sample_are_shared_by_context_parallel_ranks() -> None:
    def activations(**options: Any) -> int:
        amounts = plan("llama-3-8b", world=8, seq=65_536, recompute="full", **options).gpu.amounts
        return next(a.size_bytes for a in amounts if a.what == "activations")

    assert activations(context_parallel=8) * 8 == activations()
    with pytest.raises(UsageError, match="context_parallel is 3"):
        plan("llama-3-8b", world=8, context_parallel=3)


def test_a_fused_loss_keeps_no_logits() -> None:
    def loss(**options: Any) -> int:
        amounts = plan("llama-3-8b", world=8, seq=4_096, **options).gpu.amounts
        return next(a.size_bytes for a in amounts if a.what == "loss")

    assert loss(fused_loss=True) < loss() / 10
