"""All ranks wait for the file of the best model; RecBole's race for it is another situation."""

AFTER = "recbole.trainer.trainer"


def apply(module, settings):
    """Follow each save by a broadcast of the name of the file."""
    import torch.distributed as dist

    real = module.Trainer._save_checkpoint

    def save_and_wait(self, *args, **kwargs):
        real(self, *args, **kwargs)
        if dist.is_initialized():
            name = [self.saved_model_file]
            dist.broadcast_object_list(name, src=0)
            self.saved_model_file = name[0]

    module.Trainer._save_checkpoint = save_and_wait
