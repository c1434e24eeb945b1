"""Patches that let real frameworks fail, on a CPU, as they do on GPUs; outside their files.

UNHANG_SITUATION holds JSON: {"<module of this package>": {settings}, ...}. Each patch has `AFTER`
(it acts once that module has been imported), `apply(module, settings)`, and a docstring, which is
what the documentation says of it.
"""

import functools
import importlib
import json
import os

from _unhang_faults.imports import when_imported


def install():
    """Arrange every patch that the environment asks for."""
    for name, settings in json.loads(os.environ["UNHANG_SITUATION"]).items():
        patch = importlib.import_module("situation_site." + name)
        when_imported(patch.AFTER, functools.partial(patch.apply, settings=settings))
