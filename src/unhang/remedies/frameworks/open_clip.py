"""OpenCLIP: flags of `python -m open_clip_train.main`."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put, shell


def _flags(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "open_clip_train.main", settings)


FRAMEWORK = Framework(
    name="open_clip",
    cures={
        Cure.SHARDED_SAVE: _flags({"fsdp": None, "fsdp-checkpoint": "sharded"}),
        Cure.ASYNC_SAVE: NO_KNOB,
        Cure.SMALLER_SAVE: _flags({"save-most-recent": None, "delete-previous-checkpoint": None}),
        Cure.SAVE_RARELY: _flags({"save-frequency": 5}),
        Cure.SAVE_OFTEN: _flags({"save-frequency": 1, "save-most-recent": None}),
        # Rank 0 alone evaluates while the others enter the next epoch: do it in a job of its own.
        Cure.EVAL_SMALLER: shell(
            """
# In the training command: --val-frequency 0 --zeroshot-frequency 0
# And for each checkpoint, on one GPU, without torchrun:
python -m open_clip_train.main --model "$MODEL" --pretrained logs/run/checkpoints/epoch_1.pt \\
    --val-data "$VAL_DATA" --imagenet-val "$IMAGENET_VAL" --batch-size 256
"""
        ),
        Cure.EVAL_RARELY: _flags({"val-frequency": 0, "zeroshot-frequency": 0}),
        Cure.PREPARE_DATA: _flags(
            {
                "dataset-type": "webdataset",
                "train-data": "/local/shards/{00000..00999}.tar",
                "train-num-samples": 10000000,
            }
        ),
        Cure.FASTER_DATA: _flags({"workers": 8}),
        Cure.SMALLER_BATCH: _flags({"batch-size": 64, "accum-freq": 4}),
        Cure.RECOMPUTE: _flags({"grad-checkpointing": None}),
        Cure.FEWER_LOADERS: _flags({"workers": 1}),
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: _flags({"dataset-resampled": None, "train-num-samples": 10000000}),
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
