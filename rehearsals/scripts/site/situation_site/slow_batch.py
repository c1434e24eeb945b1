"""One rank's share of the batch comes slowly from TransferQueue: its bytes pass a slow pipe.

It is the third batch that this rank fetches, as when one response is very long.
"""

import pickle

from situation_site.storage import pass_slowly, this_rank

AFTER = "verl.utils.transferqueue_utils"

_THIRD = 3


def apply(module, settings):
    """Slow what verl calls to run the coroutine that fetches a batch."""
    real = module._run_async_in_temp_loop
    fetched = 0

    def _run_async_in_temp_loop(coroutine, *args, **kwargs):
        nonlocal fetched
        result = real(coroutine, *args, **kwargs)
        if coroutine.__name__ == "_async_meta_to_realdata" and this_rank() == settings["rank"]:
            fetched += 1
            if fetched == _THIRD:
                pass_slowly(pickle.dumps(result), settings["seconds"])
        return result

    module._run_async_in_temp_loop = _run_async_in_temp_loop
