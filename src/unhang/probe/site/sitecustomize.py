"""Starts the probe in each Python process below `unhang run`, then whatever stood here before.

Python imports the first `sitecustomize` of `sys.path` at each start. This folder comes first in
`PYTHONPATH` there; without `UNHANG_RUN` nothing happens. The next `sitecustomize` behind this one
(the user's, the distribution's) runs as it would have without us, and its errors are its own.
"""

import os
import sys


def _start_probe() -> None:
    if not os.environ.get("UNHANG_RUN") or "_unhang_probe" in sys.modules:
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


def _run_next() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(place) for place in sys.path]
    behind = sys.path[places.index(here) + 1 :] if here in places else []
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = None if find is None or not behind else find("sitecustomize", behind)
        if spec is None or spec.loader is None:
            continue
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
        return


if __name__ == "sitecustomize":
    _start_probe()
    _run_next()
