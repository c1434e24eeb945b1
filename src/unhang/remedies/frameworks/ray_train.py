"""Ray Train: plain PyTorch inside, variables through Ray's runtime environment."""

from __future__ import annotations

from unhang.remedies.cures import NO_KNOB, Cure, Framework
from unhang.remedies.environment import by_ray_init
from unhang.remedies.writing import script

FRAMEWORK = Framework(
    name="ray-train",
    own_loop=True,
    environment=by_ray_init,
    cures={
        Cure.SHARDED_SAVE: NO_KNOB,
        Cure.ASYNC_SAVE: NO_KNOB,
        Cure.SMALLER_SAVE: NO_KNOB,
        Cure.SAVE_RARELY: NO_KNOB,
        Cure.SAVE_OFTEN: NO_KNOB,
        Cure.EVAL_SMALLER: NO_KNOB,
        Cure.EVAL_RARELY: NO_KNOB,
        Cure.PREPARE_DATA: script("""
import ray

# Ray Data reads and transforms beside the training processes, and splits evenly.
dataset = ray.data.read_parquet("/shared/corpus").map_batches(tokenize)
trainer = TorchTrainer(train_loop, datasets={"train": dataset}, scaling_config=scaling_config)
"""),
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: NO_KNOB,
        Cure.RECOMPUTE: NO_KNOB,
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: NO_KNOB,
        Cure.EVEN_STEPS: script("""
import ray

# equal=True gives every worker the same number of rows.
shards = ray.data.read_parquet("/shared/corpus").split(num_workers, equal=True)
"""),
        Cure.UNUSED_PARAMETERS: script("""
import ray.train.torch

model = ray.train.torch.prepare_model(
    model, parallel_strategy_kwargs={"find_unused_parameters": True}
)
"""),
        Cure.NO_COMPILE: NO_KNOB,
    },
)
