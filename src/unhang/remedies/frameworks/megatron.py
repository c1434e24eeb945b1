"""Megatron-LM: flags of `pretrain_*.py`."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put, shell


def _flags(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "pretrain_*.py", settings)


FRAMEWORK = Framework(
    name="megatron",
    cures={
        Cure.SHARDED_SAVE: _flags({"ckpt-format": "torch_dist", "ckpt-fully-parallel-save": None}),
        Cure.ASYNC_SAVE: _flags({"ckpt-format": "torch_dist", "async-save": None}),
        Cure.SMALLER_SAVE: _flags({"no-save-optim": None}),
        Cure.SAVE_RARELY: _flags({"save-interval": 2000}),
        Cure.SAVE_OFTEN: _flags({"save-interval": 200}),
        Cure.EVAL_SMALLER: _flags({"eval-iters": 10}),
        Cure.EVAL_RARELY: _flags({"eval-interval": 2000}),
        Cure.PREPARE_DATA: shell(
            """
# Tokenise before the job; then let one short run on one GPU build the index files
# (--train-iters 1 with the final --seed, --global-batch-size and data arguments).
python tools/preprocess_data.py --input corpus.jsonl --output-prefix /shared/corpus \\
    --tokenizer-type HuggingFaceTokenizer --tokenizer-model MODEL --workers 32 --append-eod
torchrun --nproc-per-node 1 pretrain_gpt.py --data-cache-path /shared/index "$@"
"""
        ),
        Cure.FASTER_DATA: _flags({"num-workers": 8, "data-cache-path": "/shared/index"}),
        Cure.SMALLER_BATCH: _flags({"micro-batch-size": 1}),
        Cure.RECOMPUTE: _flags(
            {
                "recompute-granularity": "full",
                "recompute-method": "uniform",
                "recompute-num-layers": 1,
            }
        ),
        Cure.FEWER_LOADERS: _flags({"num-workers": 1}),
        Cure.LEAN_LOAD: NO_KNOB,
        # Its samplers are driven by --train-iters: the number of steps is the same everywhere.
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
