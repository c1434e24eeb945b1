"""`Trainer(callbacks=[TellJudge()])` of Lightning, under its new name or its old one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from unhang.callbacks import OnePhase
from unhang.declared import step

if TYPE_CHECKING:
    Callback: Any
# Which of the two the program uses: their callbacks are different classes.
elif "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class TellJudge(Callback):  # type: ignore[misc]
    """Tells steps, evaluations and saves; a save lasts until the next batch or stage."""

    def __init__(self) -> None:
        self._phase = OnePhase()

    def on_train_batch_start(self, *_: Any) -> None:
        """Whatever was before it is over."""
        self._phase.enter(None)

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """A batch is done."""
        step(trainer.global_step)

    def on_validation_start(self, *_: Any) -> None:
        """An evaluation begins."""
        self._phase.enter("eval")

    def on_validation_end(self, *_: Any) -> None:
        """It is over; a save may follow at once."""
        self._phase.enter(None)

    on_test_start = on_predict_start = on_validation_start
    on_test_end = on_predict_end = on_validation_end

    def on_save_checkpoint(self, *_: Any) -> None:
        """What is to be saved has been gathered, and is written next."""
        self._phase.enter("save")

    def on_train_end(self, *_: Any) -> None:
        """Whatever was before it is over."""
        self._phase.enter(None)
