"""One rank's share of the batch comes slowly from TransferQueue: its bytes pass a slow pipe.

It is the third batch that this rank fetches, as when one response is very long.
"""

import pickle

from situation_site.storage import pass_slowly, this_rank

AFTER = "verl.utils.transferqueue_utils"

_THIRD = 3


def apply(module, settings):
    """Slow the function with which a worker of verl fetches a batch."""
    real = module._meta_to_realdata
    fetched = 0

    def _meta_to_realdata(meta):
        nonlocal fetched
        batch = real(meta)
        fetched += 1
        if this_rank() == settings["rank"] and fetched == _THIRD:
            pass_slowly(pickle.dumps(batch), settings["seconds"])
        return batch

    module._meta_to_realdata = _meta_to_realdata
