"""Axolotl: one YAML for `axolotl train`."""

from __future__ import annotations

from unhang.remedies.case import Strategy
from unhang.remedies.cures import Cure, Form, Framework, Recipe
from unhang.remedies.frameworks.hugging_face import (
    SHARDED_BY_DEEPSPEED,
    training_arguments,
)
from unhang.remedies.writing import put, shell

_PLACE = "config.yaml (axolotl train)"

FRAMEWORK = Framework(
    name="axolotl",
    cures={
        **training_arguments(
            Form.YAML,
            _PLACE,
            rename={"per_device_train_batch_size": "micro_batch_size"},
            leave_out=frozenset({"prediction_loss_only"}),
        ),
        Cure.SHARDED_SAVE: (
            SHARDED_BY_DEEPSPEED,
            Recipe(
                form=Form.YAML,
                strategy=Strategy.FSDP,
                place=_PLACE,
                settings={"fsdp_config": {"state_dict_type": "SHARDED_STATE_DICT"}},
            ),
        ),
        Cure.EVAL_SMALLER: put(Form.YAML, _PLACE, {"val_set_size": 200, "eval_batch_size": 4}),
        Cure.EVAL_RARELY: put(Form.YAML, _PLACE, {"evals_per_epoch": 1}),
        Cure.PREPARE_DATA: shell(
            "# config.yaml holds `dataset_prepared_path: /shared/prepared`\n"
            "CUDA_VISIBLE_DEVICES= axolotl preprocess config.yaml\n"
            "axolotl train config.yaml"
        ),
        Cure.FASTER_DATA: put(
            Form.YAML, _PLACE, {"dataset_num_proc": 16, "dataloader_num_workers": 8}
        ),
        Cure.LEAN_LOAD: put(
            Form.YAML,
            _PLACE,
            {
                "fsdp_config": {"cpu_ram_efficient_loading": True},
                "low_cpu_mem_usage": True,
            },
        ),
    },
)
