"""torchtitan: dotted flags, `--checkpoint.interval 2000`."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put


def _flags(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "run_train.sh", settings)


FRAMEWORK = Framework(
    name="torchtitan",
    cures={
        # Its checkpoints are sharded already: what remains is not to wait for them.
        Cure.SHARDED_SAVE: _flags({"checkpoint.async_mode": "async"}),
        Cure.ASYNC_SAVE: _flags({"checkpoint.async_mode": "async_with_pinned_mem"}),
        Cure.SMALLER_SAVE: _flags({"checkpoint.keep_latest_k": 2}),
        Cure.SAVE_RARELY: _flags({"checkpoint.interval": 2000}),
        Cure.SAVE_OFTEN: _flags({"checkpoint.interval": 200}),
        Cure.EVAL_SMALLER: _flags({"validation.steps": 20}),
        Cure.EVAL_RARELY: _flags({"validation.freq": 2000}),
        Cure.PREPARE_DATA: _flags({"training.dataset_path": "/local/dataset"}),
        Cure.FASTER_DATA: _flags({"training.dataset_path": "/local/dataset"}),
        Cure.SMALLER_BATCH: _flags({"training.local_batch_size": 1}),
        Cure.RECOMPUTE: _flags({"activation_checkpoint.mode": "full"}),
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: _flags({"compile.no-enable": None}),
    },
)
