"""RecBole's import of ray is answered by an empty module.

It is for the search of hyperparameters, which training never calls; the ray that RecBole fits does
not start on a current Python.
"""

import sys
import types

AFTER = "sys"


def apply(module, settings):
    """Put empty modules `ray` and `ray.tune` where the import finds them."""
    ray = types.ModuleType("ray")
    ray.tune = types.ModuleType("ray.tune")
    sys.modules.update({"ray": ray, "ray.tune": ray.tune})
