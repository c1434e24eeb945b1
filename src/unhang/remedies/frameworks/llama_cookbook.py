"""llama-cookbook (llama-recipes): flags of `finetuning.py`."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put


def _flags(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.CLI, "finetuning.py", settings)


FRAMEWORK = Framework(
    name="llama-cookbook",
    cures={
        Cure.SHARDED_SAVE: NO_KNOB,
        Cure.ASYNC_SAVE: NO_KNOB,
        Cure.SMALLER_SAVE: _flags({"save_optimizer": "False"}),
        Cure.SAVE_RARELY: _flags({"save_model": "False"}),
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: _flags({"max_eval_step": 20}),
        Cure.EVAL_RARELY: _flags({"run_validation": "False"}),
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: _flags({"num_workers_dataloader": 8}),
        Cure.SMALLER_BATCH: _flags({"batch_size_training": 1, "gradient_accumulation_steps": 8}),
        Cure.RECOMPUTE: _flags({"fsdp_config.fsdp_activation_checkpointing": "True"}),
        Cure.FEWER_LOADERS: _flags({"num_workers_dataloader": 1}),
        Cure.LEAN_LOAD: _flags({"low_cpu_fsdp": None}),
        Cure.EVEN_STEPS: _flags({"max_train_step": 1000}),
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
