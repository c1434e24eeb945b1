"""One rank reads one file of its data from slow storage: the bytes come in small portions."""

import io

from situation_site.storage import read_slowly, this_rank

AFTER = "numpy"


def apply(module, settings):
    """Slow `numpy.load` of files whose name contains `part`, on the rank that is late."""
    if this_rank() != settings["rank"]:
        return
    real = module.load

    def load(file, *args, **kwargs):
        if settings["part"] not in str(file):
            return real(file, *args, **kwargs)
        return real(io.BytesIO(read_slowly(file, settings["seconds"])), *args, **kwargs)

    module.load = load
