"""What `transformers.TrainingArguments` offers, and every framework that builds on it."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.case import Strategy
from unhang.remedies.cures import NO_KNOB, Cure, Form, Recipe, Value

ACCELERATE_YAML = "accelerate config YAML (--config_file)"
DEEPSPEED_JSON = "ds_config.json"

_ARGUMENTS: Mapping[Cure, Mapping[str, Value]] = {
    Cure.SMALLER_SAVE: {"save_only_model": True, "save_total_limit": 2},
    Cure.SAVE_RARELY: {"save_strategy": "steps", "save_steps": 2000},
    Cure.SAVE_OFTEN: {"save_strategy": "steps", "save_steps": 200, "save_total_limit": 3},
    Cure.EVAL_SMALLER: {"prediction_loss_only": True, "eval_accumulation_steps": 16},
    Cure.EVAL_RARELY: {"eval_strategy": "steps", "eval_steps": 2000},
    Cure.FASTER_DATA: {"dataloader_num_workers": 8, "dataloader_pin_memory": True},
    Cure.SMALLER_BATCH: {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 16},
    Cure.RECOMPUTE: {"gradient_checkpointing": True},
    Cure.FEWER_LOADERS: {"dataloader_num_workers": 1, "dataloader_pin_memory": False},
    Cure.EVEN_STEPS: {"dataloader_drop_last": True, "accelerator_config": {"even_batches": True}},
    Cure.UNUSED_PARAMETERS: {"ddp_find_unused_parameters": True},
    Cure.NO_COMPILE: {"torch_compile": False},
}

_LEAF_MODULES = Recipe(
    form=Form.PYTHON,
    strategy=Strategy.DEEPSPEED,
    text="""
from deepspeed.utils import set_z3_leaf_modules

# Before deepspeed.initialize: ZeRO-3 then gathers a block of experts as one, used or not.
set_z3_leaf_modules(model, [SparseMoeBlock])
""".strip(),
)

SHARDED_BY_ACCELERATE = (
    Recipe(
        form=Form.YAML,
        strategy=Strategy.DEEPSPEED,
        place=ACCELERATE_YAML,
        settings={"deepspeed_config": {"zero3_save_16bit_model": False}},
    ),
    Recipe(
        form=Form.YAML,
        strategy=Strategy.FSDP,
        place=ACCELERATE_YAML,
        settings={"fsdp_config": {"fsdp_state_dict_type": "SHARDED_STATE_DICT"}},
    ),
)
"""A sharded save, where `accelerate launch --config_file` starts the job."""

SHARDED_BY_DEEPSPEED = Recipe(
    form=Form.JSON,
    strategy=Strategy.DEEPSPEED,
    place=DEEPSPEED_JSON,
    settings={"zero_optimization": {"stage3_gather_16bit_weights_on_model_save": False}},
)
"""A sharded save, where the framework reads DeepSpeed's own JSON."""

LEAN_LOAD = (
    Recipe(
        form=Form.YAML,
        strategy=Strategy.FSDP,
        place=ACCELERATE_YAML,
        settings={
            "fsdp_config": {"fsdp_cpu_ram_efficient_loading": True, "fsdp_sync_module_states": True}
        },
    ),
    Recipe(
        form=Form.JSON,
        strategy=Strategy.DEEPSPEED,
        place=DEEPSPEED_JSON,
        settings={"zero_optimization": {"stage": 3, "offload_param": {"device": "none"}}},
    ),
)
"""One copy of the weights for each host in place of one for each process."""


def training_arguments(
    form: Form,
    place: str,
    *,
    rename: Mapping[str, str] | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> dict[Cure, tuple[Recipe, ...]]:
    """Write the cures of `TrainingArguments` in one form.

    Args:
        form: the language in which this framework's users write arguments.
        place: where they write them.
        rename: keys that the framework calls differently.
        leave_out: keys that the framework does not pass on.
    """
    names = rename or {}
    cures: dict[Cure, tuple[Recipe, ...]] = {
        cure: (
            Recipe(
                form=form,
                place=place,
                call="TrainingArguments" if form is Form.PYTHON else "",
                settings={
                    names.get(key, key): value
                    for key, value in settings.items()
                    if key not in leave_out
                },
            ),
        )
        for cure, settings in _ARGUMENTS.items()
    }
    cures[Cure.UNUSED_PARAMETERS] = (
        Recipe(
            form=form,
            place=place,
            call="TrainingArguments" if form is Form.PYTHON else "",
            strategy=Strategy.DDP,
            settings=_ARGUMENTS[Cure.UNUSED_PARAMETERS],
        ),
        _LEAF_MODULES,
    )
    return {**cures, Cure.ASYNC_SAVE: NO_KNOB, Cure.PREPARE_DATA: NO_KNOB}
