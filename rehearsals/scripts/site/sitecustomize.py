"""Put the patches of a situation into each Python process of its job, then step aside.

The kit's `sitecustomize` (`lab/site`) stands before this one and has loaded its guest, whose hook
on imports the patches use. Without UNHANG_SITUATION this only passes on to the next one.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_the_next():
    """Python runs only the first sitecustomize of the path: run the one that stands behind it."""
    folders = [os.path.abspath(folder) for folder in sys.path]
    behind = sys.path[folders.index(_HERE) + 1 :]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", behind)
    if found is not None and found.loader is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if os.environ.get("UNHANG_SITUATION"):
    import situation_site

    situation_site.install()
_run_the_next()
