"""Hugging Face accelerate with the user's own loop."""

from __future__ import annotations

from unhang.remedies.cures import NO_KNOB, Cure, Form, Framework
from unhang.remedies.frameworks.hugging_face import (
    ACCELERATE_YAML,
    LEAN_LOAD,
    SHARDED_BY_ACCELERATE,
)
from unhang.remedies.writing import put, script

FRAMEWORK = Framework(
    name="accelerate",
    own_loop=True,
    cures={
        Cure.SHARDED_SAVE: SHARDED_BY_ACCELERATE,
        Cure.ASYNC_SAVE: NO_KNOB,
        # On every rank: under ZeRO-3 and FSDP it gathers.
        Cure.SMALLER_SAVE: script(
            'accelerator.save_model(model, "checkpoints/model", max_shard_size="5GB")'
        ),
        Cure.SAVE_RARELY: NO_KNOB,
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: NO_KNOB,
        Cure.EVAL_RARELY: NO_KNOB,
        Cure.PREPARE_DATA: NO_KNOB,
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: script("""
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)  # and a quarter of the batch size
for batch in loader:
    with accelerator.accumulate(model):
        accelerator.backward(compute_loss(model, batch))
        optimizer.step()
        optimizer.zero_grad()
"""),
        Cure.RECOMPUTE: put(
            Form.YAML, ACCELERATE_YAML, {"fsdp_config": {"fsdp_activation_checkpointing": True}}
        ),
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: LEAN_LOAD,
        Cure.EVEN_STEPS: script("""
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

# Rank 0 reads and hands out: all ranks get the same number of batches, of iterable data too.
accelerator = Accelerator(
    dataloader_config=DataLoaderConfiguration(even_batches=True, dispatch_batches=True)
)
"""),
        Cure.UNUSED_PARAMETERS: script("""
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs

accelerator = Accelerator(
    kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)]
)
"""),
        Cure.NO_COMPILE: put(
            Form.YAML, ACCELERATE_YAML, {"dynamo_config": {"dynamo_backend": "NO"}}
        ),
    },
)
