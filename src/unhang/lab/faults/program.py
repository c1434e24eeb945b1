"""Which code is the program's: neither torch, nor the library of Python, nor these faults."""

from __future__ import annotations

import os
import sysconfig

_LIBRARY = sysconfig.get_paths()["stdlib"]
_HERE = os.path.dirname(os.path.abspath(__file__))


def is_program(file: str) -> bool:
    """Whether a file holds code of the program, or of a framework that it uses."""
    inside = "/torch/" in file or file.startswith((_HERE, "<"))
    library = file.startswith(_LIBRARY) and "-packages" not in file
    return not inside and not library
