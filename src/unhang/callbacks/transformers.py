"""`Trainer(callbacks=[TellJudge()])` of Hugging Face Transformers, and of all that builds on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unhang.callbacks import OnePhase
from unhang.declared import step

if TYPE_CHECKING:
    TrainerCallback: Any
else:
    from transformers import TrainerCallback


class TellJudge(TrainerCallback):  # type: ignore[misc]
    """Tells steps, evaluations and saves.

    The Trainer evaluates and saves after it has asked the callbacks what to do, and calls them when
    that is over: what it is about to do it says in `control`.
    """

    def __init__(self) -> None:
        self._phase = OnePhase()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """What the Trainer does next is decided."""
        evaluates, saves = control.should_evaluate, control.should_save
        self._phase.enter("eval" if evaluates else "save" if saves else None)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A step is done, and so it is after it."""
        step(state.global_step)
        self.on_epoch_end(args, state, control)

    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        """An evaluation is under way, perhaps one that the program asked for itself."""
        self._phase.enter("eval")

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """An evaluation is over; a save comes after it."""
        self._phase.enter("save" if control.should_save else None)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Whatever was before it is over."""
        self._phase.enter(None)

    on_predict = on_save = on_train_end = on_step_begin
