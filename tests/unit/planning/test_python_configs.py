"""Configurations of frameworks that train other models, and scripts: read, never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unhang.commands.plan import command
from unhang.errors import UsageError
from unhang.model.plan import Method, Precision, Strategy
from unhang.planning import build_request

RECBOLE = """
gpu_id: '0,1,2,3'
worker: 4
train_batch_size: 2048
eval_batch_size: 4096
learner: adam
enable_amp: true
"""
ULTRALYTICS = """
task: detect
model: yolo11n.pt
imgsz: 640
workers: 8
device: [0, 1]
optimizer: SGD
"""
DETECTRON2 = """
MODEL: {META_ARCHITECTURE: GeneralizedRCNN, WEIGHTS: R-50.pkl}
SOLVER: {IMS_PER_BATCH: 16, AMP: {ENABLED: false}}
DATALOADER: {NUM_WORKERS: 6}
"""
DETECTRON2_LAZY = """
from detectron2.config import LazyCall as L
model = L(GeneralizedRCNN)(num_classes=80)
train = dict(amp=dict(enabled=True), output_dir="./out")
dataloader = dict(train=L(build_loader)(total_batch_size=16, num_workers=4))
"""
MMENGINE = """
_base_ = ['../_base_/default_runtime.py']
workers = 8
train_dataloader = dict(batch_size=4, num_workers=workers)
optim_wrapper = dict(type='AmpOptimWrapper', optimizer=dict(type='AdamW', lr=1e-4))
env_cfg = {'dist_cfg': {'backend': 'nccl'}}
strategy = dict(type='DeepSpeedStrategy', zero_optimization=dict(stage=3))
"""
COLOSSALAI = """
from colossalai.booster.plugin import HybridParallelPlugin
plugin = HybridParallelPlugin(tp_size=2, pp_size=2, microbatch_size=1, precision="bf16")
"""
COLOSSALAI_SCRIPT = """
colossalai run --nproc_per_node 8 train.py --plugin gemini --batch_size 2 --max_length 2048 \\
  --mixed_precision bf16 --grad_checkpoint --pretrained meta-llama/Llama-2-7b-hf
"""
UNSLOTH = """
max_seq_length = 2048
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name="unsloth/Meta-Llama-3.1-8B-bnb-4bit", max_seq_length=max_seq_length,
    load_in_4bit=True)
model = FastLanguageModel.get_peft_model(
    model, r=32, target_modules=["q_proj", "k_proj"], use_gradient_checkpointing="unsloth")
trainer = SFTTrainer(model=model, args=SFTConfig(
    per_device_train_batch_size=2, optim="adamw_8bit", bf16=True))
"""
PLAIN = """
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
model.gradient_checkpointing_enable()
for block in model.model.layers:
    fully_shard(block)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
"""
SEEN: list[tuple[str, str, str | None, dict[str, Any]]] = [
    ("recbole.yaml", RECBOLE, "3M",
     {"world": 4, "workers": 4, "strategy": Strategy.DDP, "precision": Precision.FP16_MIXED,
      "framework": "recbole"}),
    ("ultralytics.yaml", ULTRALYTICS, "3M",
     {"world": 2, "workers": 8, "strategy": Strategy.DDP, "precision": Precision.FP16_MIXED,
      "optimizer": "sgd", "framework": "ultralytics"}),
    ("detectron2.yaml", DETECTRON2, "44M",
     {"workers": 6, "strategy": Strategy.DDP, "precision": Precision.FP32}),
    ("detectron2.py", DETECTRON2_LAZY, "44M",
     {"workers": 4, "strategy": Strategy.DDP, "precision": Precision.FP16_MIXED,
      "framework": "detectron2"}),
    ("mmengine.py", MMENGINE, "44M",
     {"workers": 8, "batch": 4, "strategy": Strategy.ZERO3, "optimizer": "adamw",
      "precision": Precision.FP16_MASTER, "framework": "mmengine"}),
    ("colossalai.py", COLOSSALAI, "7B",
     {"tensor_parallel": 2, "pipeline_parallel": 2, "batch": 1, "strategy": Strategy.DDP,
      "precision": Precision.BF16_MIXED}),
    ("colossalai.sh", COLOSSALAI_SCRIPT, None,
     {"world": 8, "seq": 2048, "batch": 2, "strategy": Strategy.ZERO3, "recompute": "full"}),
    ("unsloth.py", UNSLOTH, None,
     {"seq": 2048, "batch": 2, "method": Method.QLORA, "lora_rank": 32, "recompute": "full",
      "lora_targets": frozenset({"q_proj", "k_proj"}), "optimizer": "adamw-8bit"}),
    ("plain.py", PLAIN, None,
     {"strategy": Strategy.FSDP, "optimizer": "adamw", "recompute": "full"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "model", "told"), SEEN, ids=[s[0] for s in SEEN])
def test_what_is_told(
    tmp_path: Path, name: str, text: str, model: str | None, told: dict[str, Any]
) -> None:
    (tmp_path / name).write_text(text)
    options = {} if "world" in told else {"world": 8}
    request = build_request(model, [str(tmp_path / name)], **options)
    assert {field: getattr(request, field) for field in told} == told


def test_a_notebook_is_its_cells(tmp_path: Path) -> None:
    source = ["!pip install unsloth\n", *UNSLOTH.splitlines(keepends=True)]
    cells = [{"cell_type": "markdown", "source": ["# a title"]},
             {"cell_type": "code", "source": source}]  # fmt: skip
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": cells}))
    request = build_request(None, [str(tmp_path / "train.ipynb")])
    assert request.model.parameters == 8_030_261_248
    assert request.method is Method.QLORA


@pytest.mark.parametrize(
    ("name", "text"),
    [("recbole.yaml", RECBOLE), ("d2.py", DETECTRON2_LAZY), ("u.yaml", ULTRALYTICS)],
)
def test_a_model_that_has_no_known_sizes_is_asked_for(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    run = CliRunner().invoke(command, ["--from", str(tmp_path / name)])
    assert isinstance(run.exception, UsageError)
    assert "number" in str(run.exception)
    assert "\n" not in str(run.exception)


def test_what_another_file_says_outlasts_what_a_framework_usually_does(tmp_path: Path) -> None:
    (tmp_path / "fsdp.yaml").write_text("distributed_type: FSDP\n")
    (tmp_path / "sft.yaml").write_text("per_device_train_batch_size: 2\n")
    both = [str(tmp_path / name) for name in ("fsdp.yaml", "sft.yaml")]
    assert build_request("7B", both, world=8).strategy is Strategy.FSDP
    assert build_request("7B", both[1:], world=8).strategy is Strategy.DDP


def test_a_name_bound_twice_is_not_guessed(tmp_path: Path) -> None:
    text = "lora_rank = 8\nif big:\n    lora_rank = 64\nmax_seq_length = 512\n"
    (tmp_path / "c.py").write_text(text)
    request = build_request("7B", [str(tmp_path / "c.py")])
    assert (request.seq, request.method) == (512, Method.FULL)


@pytest.mark.parametrize(
    "text", ["", "def", "\0", "(" * 5000, "-" * 100_000 + "1", "x=" * 3000, "a.b.c", "f(*x, **y)"]
)
@pytest.mark.parametrize("name", ["c.py", "c.ipynb"])
def test_a_script_that_tells_nothing_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError) as error:
        build_request("7B", [str(tmp_path / name)])
    assert "\n" not in str(error.value)
