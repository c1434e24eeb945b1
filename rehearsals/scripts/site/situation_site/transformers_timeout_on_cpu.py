"""`ddp_timeout` reaches the process group on a CPU too: transformers passes it on only for GPUs."""

import datetime

AFTER = "transformers.training_args"


def apply(module, settings):
    """Give PartialState the timeout in the branch of `use_cpu`, as the branch for GPUs does."""
    arguments, state = module.TrainingArguments, module.PartialState
    of_the_user = {}
    real_post_init, real_init = arguments.__post_init__, state.__init__

    def __post_init__(self):
        of_the_user["timeout"] = datetime.timedelta(seconds=self.ddp_timeout)
        real_post_init(self)

    def __init__(self, cpu=False, **kwargs):
        if cpu and "backend" in kwargs:
            kwargs.setdefault("timeout", of_the_user["timeout"])
        real_init(self, cpu, **kwargs)

    arguments.__post_init__ = __post_init__
    state.__init__ = __init__
