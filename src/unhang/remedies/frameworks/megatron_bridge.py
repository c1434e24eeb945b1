"""Megatron-Bridge: Hydra-style overrides."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put


def _overrides(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.HYDRA, "overrides of the recipe", settings)


FRAMEWORK = Framework(
    name="megatron-bridge",
    cures={
        Cure.SHARDED_SAVE: _overrides(
            {"checkpoint.ckpt_format": "torch_dist", "checkpoint.fully_parallel_save": True}
        ),
        Cure.ASYNC_SAVE: _overrides({"checkpoint.async_save": True}),
        Cure.SMALLER_SAVE: _overrides({"checkpoint.save_optim": False}),
        Cure.SAVE_RARELY: _overrides({"checkpoint.save_interval": 2000}),
        Cure.SAVE_OFTEN: _overrides({"checkpoint.save_interval": 200}),
        Cure.EVAL_SMALLER: _overrides({"train.eval_iters": 10}),
        Cure.EVAL_RARELY: _overrides({"train.eval_interval": 2000}),
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: _overrides({"dataset.num_workers": 8}),
        Cure.SMALLER_BATCH: _overrides({"train.micro_batch_size": 1}),
        Cure.RECOMPUTE: _overrides(
            {
                "model.recompute_granularity": "full",
                "model.recompute_method": "uniform",
                "model.recompute_num_layers": 1,
            }
        ),
        Cure.FEWER_LOADERS: _overrides({"dataset.num_workers": 1}),
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
