"""NeMo: Hydra overrides of NeMo 1 (`model.…`) and of NeMo 2 (`trainer.strategy.…`, `data.…`)."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework, Recipe, Value
from unhang.remedies.writing import put

_LAST_OLD = "1.99"
_FIRST_NEW = "2.0"


def _both(settings: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return put(Form.HYDRA, "overrides", settings)


def _split(old: Mapping[str, Value], new: Mapping[str, Value]) -> tuple[Recipe, ...]:
    return (
        *put(Form.HYDRA, "overrides of NeMo 2", new, since=_FIRST_NEW),
        *put(Form.HYDRA, "overrides of NeMo 1", old, last=_LAST_OLD),
    )


FRAMEWORK = Framework(
    name="nemo",
    cures={
        Cure.SHARDED_SAVE: _split(
            {"++model.dist_ckpt_parallel_save": True},
            {"trainer.strategy.ckpt_parallel_save": True},
        ),
        Cure.ASYNC_SAVE: put(
            Form.HYDRA,
            "overrides of NeMo 2",
            {"trainer.strategy.ckpt_async_save": True},
            since=_FIRST_NEW,
        ),
        Cure.SMALLER_SAVE: NO_KNOB,
        Cure.SAVE_RARELY: NO_KNOB,
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: _both({"trainer.limit_val_batches": 10}),
        Cure.EVAL_RARELY: _both({"trainer.val_check_interval": 2000}),
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: _split({"model.data.num_workers": 8}, {"data.num_workers": 8}),
        Cure.SMALLER_BATCH: _split({"model.micro_batch_size": 1}, {"data.micro_batch_size": 1}),
        Cure.RECOMPUTE: _split(
            {
                "model.activations_checkpoint_granularity": "full",
                "model.activations_checkpoint_method": "uniform",
                "model.activations_checkpoint_num_layers": 1,
            },
            {
                "model.config.recompute_granularity": "full",
                "model.config.recompute_method": "uniform",
                "model.config.recompute_num_layers": 1,
            },
        ),
        Cure.FEWER_LOADERS: _split({"model.data.num_workers": 1}, {"data.num_workers": 1}),
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: _both({"trainer.limit_train_batches": 1000}),
        Cure.UNUSED_PARAMETERS: NO_KNOB,
        Cure.NO_COMPILE: NO_KNOB,
    },
)
