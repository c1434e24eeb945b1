"""TRL (`trl sft`, `SFTConfig`, `GRPOConfig`): a YAML for the script, one for accelerate."""

from __future__ import annotations

from unhang.remedies.cures import Cure, Form, Framework
from unhang.remedies.frameworks.hugging_face import (
    LEAN_LOAD,
    SHARDED_BY_ACCELERATE,
    training_arguments,
)
from unhang.remedies.writing import put

_PLACE = "training YAML (--config)"

FRAMEWORK = Framework(
    name="trl",
    cures={
        **training_arguments(Form.YAML, _PLACE),
        Cure.SHARDED_SAVE: SHARDED_BY_ACCELERATE,
        Cure.LEAN_LOAD: LEAN_LOAD,
        Cure.FASTER_DATA: put(
            Form.YAML, _PLACE, {"dataset_num_proc": 16, "dataloader_num_workers": 8}
        ),
    },
)
