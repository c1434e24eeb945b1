"""One rank reads its table from slow storage: the bytes come in small portions."""

import io

from situation_site.storage import read_slowly, this_rank

AFTER = "pandas"


def apply(module, settings):
    """Slow `pandas.read_csv` on the rank that is late."""
    real = module.read_csv

    def read_csv(path, **kwargs):
        if this_rank() != settings["rank"]:
            return real(path, **kwargs)
        return real(io.BytesIO(read_slowly(path, settings["seconds"])), **kwargs)

    module.read_csv = read_csv
