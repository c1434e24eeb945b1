"""Rank 0 writes a checkpoint to slow storage: the file of `torch.save` grows in small portions."""

import io

from situation_site.storage import this_rank, write_slowly

AFTER = "torch"


def apply(module, settings):
    """Slow `torch.save` to a path on rank 0."""
    real = module.save

    def save(obj, f, *args, **kwargs):
        if this_rank() != 0 or hasattr(f, "write"):
            real(obj, f, *args, **kwargs)
            return
        serialised = io.BytesIO()
        real(obj, serialised, *args, **kwargs)
        write_slowly(f, serialised.getvalue(), settings["seconds"])

    module.save = save
