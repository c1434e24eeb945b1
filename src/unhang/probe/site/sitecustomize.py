"""Starts the probe in each Python process below `unhang run`, then whatever stood here before.

Python imports the first `sitecustomize` of `sys.path` at each start. This folder comes first in
`PYTHONPATH` there; without `UNHANG_RUN` nothing happens. The next `sitecustomize` behind this one
(the user's, the distribution's) runs as it would have without us, and its errors are its own.

Any Python may read this file, Python 2 as well, and must find nothing to complain about: no
annotations, nothing of the probe before its version is known.
"""

import os
import sys


def _start_probe():
    if sys.version_info < (3, 8) or not os.environ.get("UNHANG_RUN"):
        return
    if "_unhang_probe" in sys.modules:
        return
    try:
        # A bare module with a `__path__` is a package: no importlib.util, which costs milliseconds.
        package = type(sys)("_unhang_probe")
        here = os.path.dirname(os.path.abspath(__file__))
        package.__path__ = [os.path.dirname(here)]
        sys.modules["_unhang_probe"] = package
        __import__("_unhang_probe.arrival")
        sys.modules["_unhang_probe.arrival"].arrive()
    except Exception:
        # A probe that cannot start is no reason for a job not to: the agent sees no board.
        return


def _run_next():
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(place) for place in sys.path]
    behind = sys.path[places.index(here) + 1 :] if here in places else []
    if not behind:
        return
    if sys.version_info < (3, 4):
        _run_next_of_old(behind)
        return
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if find is None else find("sitecustomize", behind)
        if spec is None or spec.loader is None:
            continue
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
        return


def _run_next_of_old(behind):
    import imp

    try:
        found = imp.find_module("sitecustomize", behind)
    except ImportError:
        return
    imp.load_module("sitecustomize", *found)


if __name__ == "sitecustomize":
    _start_probe()
    _run_next()
