"""torchtune: `tune run … key=value`, without dashes."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put


def _overrides(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.HYDRA, "tune run --config", settings)


FRAMEWORK = Framework(
    name="torchtune",
    cures={
        Cure.SHARDED_SAVE: _overrides({"enable_async_checkpointing": True}),
        Cure.ASYNC_SAVE: _overrides({"enable_async_checkpointing": True}),
        Cure.SMALLER_SAVE: _overrides({"save_adapter_weights_only": True}),
        Cure.SAVE_RARELY: NO_KNOB,
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: _overrides({"batch_size_val": 4}),
        Cure.EVAL_RARELY: _overrides({"run_val_every_n_steps": None}),
        Cure.PREPARE_DATA: _overrides({"dataset.packed": False}),
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: _overrides({"batch_size": 1, "gradient_accumulation_steps": 16}),
        Cure.RECOMPUTE: _overrides({"enable_activation_checkpointing": True}),
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: _overrides({"max_steps_per_epoch": 1000}),
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: _overrides({"compile": False}),
    },
)
