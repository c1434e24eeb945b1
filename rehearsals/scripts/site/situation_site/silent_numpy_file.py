"""Storage never answers one rank: its read of one file waits for bytes that do not come."""

import os

from situation_site.moment import fault_begins
from situation_site.storage import this_rank

AFTER = "numpy"


def apply(module, settings):
    """Let `numpy.load` of files whose name contains `part` read from an empty pipe."""
    if this_rank() != settings["rank"]:
        return
    real = module.load

    def load(file, *args, **kwargs):
        if settings["part"] in str(file):
            fault_begins("silent storage")
            receiving, _ = os.pipe()
            os.read(receiving, 1)
        return real(file, *args, **kwargs)

    module.load = load
