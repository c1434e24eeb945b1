"""torch's default collective timeout is lowered, for a framework that has no setting for it."""

import datetime

AFTER = "torch.distributed.distributed_c10d"


def apply(module, settings):
    """Groups that are made without a timeout get `seconds`."""
    limit = datetime.timedelta(seconds=settings["seconds"])
    module.default_pg_timeout = module.default_pg_nccl_timeout = limit
