"""Sets the variables of the Flight Recorder under the names that a version of torch reads.

torch reads them when the first process group is made, so they may be set once its version is known.
What the user has set stays.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from .recorder import SIZES

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_ENTRIES = "2000"
_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_FIRST = (2, 2)
_NEW_NAMES = (2, 8)
_RECORDS_BY_DEFAULT = (2, 11)


def missing(version: str, run: str, environ: MutableMapping[str, str]) -> dict[str, str]:
    """Return what to set so that torch records, and dumps into the run folder on a timeout.

    Args:
        version: of torch, such as `2.6.0+cu124`.
        run: the run folder.
        environ: of the process.
    """
    number = re.match(r"(\d+)\.(\d+)", version)
    release = (int(number[1]), int(number[2])) if number else (0, 0)
    if release < _FIRST:
        return {}
    wanted = {}
    if release < _RECORDS_BY_DEFAULT and not any(name in environ for name in SIZES):
        # 2.8 to 2.10 record under the new name and decide to dump under the old one.
        names = SIZES if release >= _NEW_NAMES else SIZES[1:]
        wanted.update(dict.fromkeys(names, _ENTRIES))
    if not any(name in environ for name in _FILES):
        name = _FILES[0] if release >= _NEW_NAMES else _FILES[1]
        wanted[name] = os.path.join(run, "dumps", "watchdog", "trace_")
    if "TORCH_NCCL_DUMP_ON_TIMEOUT" not in environ:
        wanted["TORCH_NCCL_DUMP_ON_TIMEOUT"] = "1"
    return wanted


def set_for(version: str, environ: MutableMapping[str, str]) -> None:
    """Set them in this process."""
    run = environ["UNHANG_RUN"]
    wanted = missing(version, run, environ)
    if os.path.isdir(run):
        os.makedirs(os.path.join(run, "dumps", "watchdog"), exist_ok=True)
        environ.update(wanted)
