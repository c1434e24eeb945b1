"""RecBole: a flat YAML; nothing in it speaks of distributed training."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put, shell


def _config(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.YAML, "RecBole YAML (--config_files)", settings)


FRAMEWORK = Framework(
    name="recbole",
    cures={
        Cure.SHARDED_SAVE: NO_KNOB,
        Cure.ASYNC_SAVE: NO_KNOB,
        Cure.SMALLER_SAVE: NO_KNOB,
        Cure.SAVE_RARELY: _config({"eval_step": 5}),
        Cure.SAVE_OFTEN: _config({"eval_step": 1}),
        Cure.EVAL_SMALLER: _config({"eval_args": {"mode": "uni100"}, "eval_batch_size": 4096}),
        Cure.EVAL_RARELY: _config({"eval_step": 5}),
        # One process fills the file; every later run with the same configuration finds it. The
        # loaders are not kept (`save_dataloaders`): those of one process cannot serve several.
        Cure.PREPARE_DATA: put(
            Form.YAML,
            "RecBole YAML (--config_files), then run it once with --nproc 1",
            {"save_dataset": True},
        ),
        Cure.FASTER_DATA: _config({"worker": 4}),
        Cure.SMALLER_BATCH: _config({"train_batch_size": 1024, "eval_batch_size": 1024}),
        Cure.RECOMPUTE: NO_KNOB,
        Cure.FEWER_LOADERS: _config({"worker": 0}),
        # Every process holds the whole data set: fewer processes is the only way to less memory.
        Cure.LEAN_LOAD: shell(
            'python run_recbole.py --model "$MODEL" --dataset "$DATASET" --nproc 2'
        ),
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
