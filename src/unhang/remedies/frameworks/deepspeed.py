"""DeepSpeed: `ds_config.json`, and its Python interface where that has no key."""

from __future__ import annotations

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework
from unhang.remedies.environment import by_deepspeed
from unhang.remedies.frameworks.hugging_face import DEEPSPEED_JSON, SHARDED_BY_DEEPSPEED
from unhang.remedies.writing import put, script

FRAMEWORK = Framework(
    name="deepspeed",
    own_loop=True,
    environment=by_deepspeed,
    cures={
        Cure.SHARDED_SAVE: (SHARDED_BY_DEEPSPEED,),
        Cure.ASYNC_SAVE: NO_KNOB,
        Cure.SMALLER_SAVE: script(
            "# On every rank.\n"
            'engine.save_checkpoint("checkpoints", tag=str(step), exclude_frozen_parameters=True)'
        ),
        Cure.SAVE_RARELY: NO_KNOB,
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: NO_KNOB,
        Cure.EVAL_RARELY: NO_KNOB,
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: put(
            Form.JSON,
            DEEPSPEED_JSON,
            {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 16},
        ),
        Cure.RECOMPUTE: NO_KNOB,
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: script("""
import deepspeed

# The weights are spread over the ranks while they are made, not copied to each of them.
with deepspeed.zero.Init(config_dict_or_path="ds_config.json"):
    model = build_model()
"""),
        Cure.EVEN_STEPS: NO_KNOB,
        Cure.UNUSED_PARAMETERS: script("""
from deepspeed.utils import set_z3_leaf_modules

# Before deepspeed.initialize: ZeRO-3 then gathers a block of experts as one, used or not.
set_z3_leaf_modules(model, [SparseMoeBlock])
"""),
        Cure.NO_COMPILE: NO_KNOB,
    },
)
