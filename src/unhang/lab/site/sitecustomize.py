"""Loads the faults into this interpreter, then the `sitecustomize` that would have been found.

Python imports the first `sitecustomize` of `sys.path` when it starts. A drill puts this folder
first; the user's own module, or that of another guest, is found behind it and still runs.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _begin_faults() -> None:
    package = os.path.join(os.path.dirname(_HERE), "faults")
    spec = importlib.util.spec_from_file_location(
        "_unhang_faults",
        os.path.join(package, "__init__.py"),
        submodule_search_locations=[package],
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_unhang_faults"] = module
    spec.loader.exec_module(module)
    importlib.import_module("_unhang_faults.guest").begin()


def _next_sitecustomize() -> None:
    """Only what stands behind this folder: a guest before it has brought us here."""
    places = [os.path.abspath(entry or ".") for entry in sys.path]
    behind = sys.path[places.index(_HERE) + 1 :] if _HERE in places else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("UNHANG_FAULT") or os.environ.get("UNHANG_DRILL"):
    _begin_faults()
_next_sitecustomize()
