"""DistributedDataParallel accepts no device ids for a module on a CPU: they are left out."""

AFTER = "torch.nn.parallel.distributed"


def apply(module, settings):
    """Drop `device_ids` and `output_device`; `settings` are further arguments that stay fixed."""
    ddp = module.DistributedDataParallel
    real = ddp.__init__

    def __init__(self, wrapped, device_ids=None, output_device=None, **kwargs):
        real(self, wrapped, **{**kwargs, **settings})

    ddp.__init__ = __init__
