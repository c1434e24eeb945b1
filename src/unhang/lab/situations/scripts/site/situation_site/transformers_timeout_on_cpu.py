"""`ddp_timeout` reaches the process group on a CPU too: transformers passes it on only for GPUs."""

import datetime

AFTER = "transformers.training_args"


def apply(module, settings):
    """Give PartialState the timeout in the branch of `use_cpu`, as the branch for GPUs does."""
    arguments, state = module.TrainingArguments, module.PartialState
    of_the_user = {}
    real = arguments.__post_init__

    def __post_init__(self):
        of_the_user["timeout"] = datetime.timedelta(seconds=self.ddp_timeout)
        real(self)

    class PartialState(state):
        def __init__(self, cpu=False, **kwargs):
            if cpu and "backend" in kwargs:
                kwargs.setdefault("timeout", of_the_user["timeout"])
            super().__init__(cpu, **kwargs)

    arguments.__post_init__ = __post_init__
    module.PartialState = PartialState
