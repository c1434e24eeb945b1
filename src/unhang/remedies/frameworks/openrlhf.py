"""OpenRLHF: flags with underscores before 0.10, dotted ones from then on."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.environment import by_ray_job
from unhang.remedies.writing import put


def _flags(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "OpenRLHF before 0.10", settings, last="0.9")


def _dotted(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "OpenRLHF 0.10 and later", settings, since="0.10")


FRAMEWORK = Framework(
    name="openrlhf",
    environment=by_ray_job("python3 -m openrlhf.cli.train_ppo_ray"),
    cures={
        Cure.SHARDED_SAVE: NO_KNOB,
        Cure.ASYNC_SAVE: NO_KNOB,
        # Only the Hugging Face weights, not DeepSpeed's states.
        Cure.SMALLER_SAVE: (
            *_dotted({"ckpt.disable_ds": None}),
            *_flags({"disable_ds_ckpt": None}),
        ),
        Cure.SAVE_RARELY: (*_dotted({"ckpt.save_steps": 2000}), *_flags({"save_steps": 2000})),
        Cure.SAVE_OFTEN: (*_dotted({"ckpt.save_steps": 100}), *_flags({"save_steps": 100})),
        Cure.EVAL_SMALLER: NO_KNOB,
        Cure.EVAL_RARELY: _flags({"eval_steps": 500}),
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: _flags({"micro_train_batch_size": 1, "micro_rollout_batch_size": 1}),
        Cure.RECOMPUTE: _flags({"gradient_checkpointing": None}),
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: _flags({"enforce_eager": None}),
    },
)
