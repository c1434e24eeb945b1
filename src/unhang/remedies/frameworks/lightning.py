"""Lightning: `Trainer(...)`, strategies, callbacks."""

from __future__ import annotations

from unhang.remedies.cures import NO_KNOB, Cure, Framework
from unhang.remedies.writing import script

FRAMEWORK = Framework(
    name="lightning",
    own_loop=True,
    cures={
        Cure.SHARDED_SAVE: script(
            """
from lightning.pytorch import Trainer
from lightning.pytorch.strategies import FSDPStrategy

trainer = Trainer(strategy=FSDPStrategy(state_dict_type="sharded"))
""",
            since="2.0",
        ),
        Cure.ASYNC_SAVE: script(
            """
from lightning.pytorch import Trainer
from lightning.pytorch.plugins.io import AsyncCheckpointIO

trainer = Trainer(plugins=[AsyncCheckpointIO()])
"""
        ),
        Cure.SMALLER_SAVE: script(
            """
from lightning.pytorch.callbacks import ModelCheckpoint

checkpoint = ModelCheckpoint(save_weights_only=True, save_top_k=1)
"""
        ),
        Cure.SAVE_RARELY: script(
            """
from lightning.pytorch.callbacks import ModelCheckpoint

checkpoint = ModelCheckpoint(every_n_train_steps=2000)
"""
        ),
        Cure.SAVE_OFTEN: script(
            """
from lightning.pytorch.callbacks import ModelCheckpoint

checkpoint = ModelCheckpoint(every_n_train_steps=200, save_last=True)
"""
        ),
        Cure.EVAL_SMALLER: script(
            """
from lightning.pytorch import Trainer

trainer = Trainer(limit_val_batches=50, num_sanity_val_steps=0)
# In validation_step: self.log(..., sync_dist=True) on every rank, never under `if rank == 0:`.
"""
        ),
        Cure.EVAL_RARELY: script(
            """
from lightning.pytorch import Trainer

trainer = Trainer(check_val_every_n_epoch=5)
"""
        ),
        Cure.PREPARE_DATA: script(
            """
from lightning.pytorch import LightningDataModule


class Data(LightningDataModule):
    prepare_data_per_node = False  # a shared folder: one process of the job prepares it

    def prepare_data(self):
        # Other ranks wait for it: what takes longer than the timeout belongs before the launch.
        download_and_tokenize("/shared/prepared")

    def setup(self, stage):
        self.dataset = load_prepared("/shared/prepared")
"""
        ),
        Cure.FASTER_DATA: NO_KNOB,
        Cure.SMALLER_BATCH: script(
            """
from lightning.pytorch import Trainer

trainer = Trainer(accumulate_grad_batches=4)  # and a quarter of the batch size in the loader
"""
        ),
        Cure.RECOMPUTE: script(
            """
from lightning.pytorch import Trainer
from lightning.pytorch.strategies import FSDPStrategy

trainer = Trainer(strategy=FSDPStrategy(activation_checkpointing_policy={Block}))
""",
            since="2.1",
        ),
        Cure.FEWER_LOADERS: NO_KNOB,
        Cure.LEAN_LOAD: script(
            """
with trainer.init_module(empty_init=True):  # no copy of the weights for each process
    model = build_model()
""",
            since="2.1",
        ),
        Cure.EVEN_STEPS: script(
            """
from lightning.pytorch import Trainer

# The same number of batches on every rank; `steps` is that of the rank with the fewest.
trainer = Trainer(limit_train_batches=steps, limit_val_batches=val_steps)
"""
        ),
        Cure.UNUSED_PARAMETERS: script(
            """
from lightning.pytorch import Trainer

trainer = Trainer(strategy="ddp_find_unused_parameters_true")
""",
            since="2.0",
        ),
        Cure.NO_COMPILE: NO_KNOB,
    },
)
