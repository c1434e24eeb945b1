"""RecBole asks for the backend `nccl` and for CUDA devices: it gets gloo and the CPU."""

AFTER = "recbole.config.configurator"


def apply(module, settings):
    """Change the two calls of its `Config._init_device`, then the device that it chose."""
    import torch

    real = module.Config._init_device
    init = torch.distributed.init_process_group

    def init_process_group(backend=None, **kwargs):
        init("gloo", **kwargs)

    def _init_device(self):
        torch.distributed.init_process_group = init_process_group
        torch.cuda.set_device = lambda device: None
        real(self)
        self.final_config_dict["device"] = torch.device("cpu")

    module.Config._init_device = _init_device
