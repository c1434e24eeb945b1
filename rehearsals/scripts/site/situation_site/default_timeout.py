"""torch's default collective timeout is lowered, for a framework that has no setting for it.

The default group is made with the usual timeout, so that slow starts are none of the drill's, and
gets the lower one then, unless the caller asked for one.
"""

import datetime

AFTER = "torch.distributed.distributed_c10d"


def apply(module, settings):
    """Give groups that are made without a timeout `seconds`, the default one once it is made."""
    limit = datetime.timedelta(seconds=settings["seconds"])
    real = module.init_process_group

    def init_process_group(*args, **kwargs):
        real(*args, **kwargs)
        if kwargs.get("timeout") is None:
            module._set_pg_timeout(limit)
        module.default_pg_timeout = module.default_pg_nccl_timeout = limit

    module.init_process_group = init_process_group
