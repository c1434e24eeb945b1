"""Rank 0 writes the weights of a checkpoint to slow storage: the file grows in small portions."""

from situation_site.storage import this_rank, write_slowly

AFTER = "transformers.modeling_utils"


def apply(module, settings):
    """Replace the function with which transformers writes one file of weights."""
    if this_rank() != 0:
        return
    import safetensors.torch

    def save_file(tensors, filename, metadata=None):
        write_slowly(filename, safetensors.torch.save(tensors, metadata), settings["seconds"])

    module.safe_save_file = save_file
