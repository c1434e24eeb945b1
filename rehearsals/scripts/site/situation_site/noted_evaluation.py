"""The moment at which rank 0 begins to evaluate is written down; nothing else changes."""

from situation_site.moment import fault_begins
from situation_site.storage import this_rank

AFTER = "open_clip_train.train"


def apply(module, settings):
    """Wrap `evaluate`."""
    real = module.evaluate

    def evaluate(*args, **kwargs):
        if this_rank() == 0:
            fault_begins("evaluation")
        return real(*args, **kwargs)

    module.evaluate = evaluate
