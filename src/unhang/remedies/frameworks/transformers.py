"""The Trainer of Hugging Face transformers: `TrainingArguments(...)`."""

from __future__ import annotations

from unhang.remedies.cures import Cure, Form, Framework
from unhang.remedies.frameworks.hugging_face import (
    LEAN_LOAD,
    SHARDED_BY_ACCELERATE,
    SHARDED_BY_DEEPSPEED,
    training_arguments,
)

FRAMEWORK = Framework(
    name="transformers",
    cures={
        **training_arguments(Form.PYTHON, "TrainingArguments"),
        Cure.SHARDED_SAVE: (SHARDED_BY_DEEPSPEED, SHARDED_BY_ACCELERATE[1]),
        Cure.LEAN_LOAD: LEAN_LOAD,
    },
)
