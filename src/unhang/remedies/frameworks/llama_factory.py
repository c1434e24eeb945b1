"""LLaMA-Factory: one flat YAML for `llamafactory-cli train`."""

from __future__ import annotations

from unhang.remedies.cures import Cure, Form, Framework
from unhang.remedies.frameworks.hugging_face import (
    LEAN_LOAD,
    SHARDED_BY_ACCELERATE,
    SHARDED_BY_DEEPSPEED,
    training_arguments,
)
from unhang.remedies.writing import put

_PLACE = "training YAML (llamafactory-cli train)"

FRAMEWORK = Framework(
    name="llama-factory",
    cures={
        **training_arguments(Form.YAML, _PLACE),
        Cure.SHARDED_SAVE: (SHARDED_BY_DEEPSPEED, SHARDED_BY_ACCELERATE[1]),
        Cure.LEAN_LOAD: LEAN_LOAD,
        # The run that finds no folder there tokenises, saves it and ends; run that on one process.
        Cure.PREPARE_DATA: put(Form.YAML, _PLACE, {"tokenized_path": "/shared/tokenized"}),
        Cure.FASTER_DATA: put(
            Form.YAML, _PLACE, {"preprocessing_num_workers": 16, "dataloader_num_workers": 8}
        ),
    },
)
