"""ms-swift: flags of `swift sft`."""

from __future__ import annotations

from unhang.remedies.cures import Cure, Form, Framework
from unhang.remedies.frameworks.hugging_face import (
    LEAN_LOAD,
    SHARDED_BY_ACCELERATE,
    SHARDED_BY_DEEPSPEED,
    training_arguments,
)
from unhang.remedies.writing import put, shell

_PLACE = "swift sft"

FRAMEWORK = Framework(
    name="ms-swift",
    cures={
        **training_arguments(Form.CLI, _PLACE, leave_out=frozenset({"accelerator_config"})),
        Cure.SHARDED_SAVE: (SHARDED_BY_DEEPSPEED, SHARDED_BY_ACCELERATE[1]),
        Cure.LEAN_LOAD: LEAN_LOAD,
        Cure.PREPARE_DATA: shell(
            "swift export --model MODEL --dataset DATASET --to_cached_dataset true"
            " --output_dir /shared/cached\n"
            "swift sft --model MODEL --cached_dataset /shared/cached"
        ),
        Cure.FASTER_DATA: put(
            Form.CLI,
            _PLACE,
            {
                "lazy_tokenize": True,
                "dataset_num_proc": 16,
                "dataloader_num_workers": 8,
            },
        ),
    },
)
