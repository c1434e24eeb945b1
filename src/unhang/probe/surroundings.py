"""What of a process's environment bears on hangs: variables of communication, and versions.

Programs set variables, and load libraries, after they have begun. So the environment of this moment
counts and not the one that the kernel shows, and it is looked at again. After the first half minute
it is told with some beats only, so that the others stay short.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

_TOLD_TWICE = 2
_OFTEN, _RARELY = 4, 32
"""Beats between two looks: at first, and after as many beats as the second."""
_MOST, _LONGEST = 80, 160
_BEGINNINGS = (
    *("NCCL_", "RCCL_", "TORCH_", "PYTORCH_", "GLOO_", "UCX_", "UCC_", "FI_", "OFI_", "RDMAV_"),
    *("MLX5_", "CUDA_", "HIP_", "ROCR_", "HSA_", "OMP_", "MKL_", "ACCELERATE_", "DEEPSPEED_"),
    "FSDP_",
)
_NO_SETTINGS = ("_TEMP_FILE", "_ID", "_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PORT", "_ADDR")
"""Ends of names whose values differ in every run, or are nobody's business."""


class Surroundings:
    """Tells them when they are new, and now and then."""

    def __init__(self) -> None:
        self._beats = 0
        self._told: dict[str, str] = {}
        self._again = 0

    def look(self) -> dict[str, str] | None:
        """What this beat tells of them; None = nothing."""
        beat, self._beats = self._beats, self._beats + 1
        if beat % (_OFTEN if beat < _RARELY else _RARELY) == 0:
            found = {**_versions(), **_variables()}
            if found != self._told:
                self._told, self._again = found, _TOLD_TWICE
            elif beat % _RARELY == 0:
                self._again = _TOLD_TWICE
        if self._again == 0:
            return self._told if beat < _RARELY else None  # an agent may be late
        self._again -= 1
        return self._told


def _variables() -> dict[str, str]:
    names = sorted(
        name
        for name in list(os.environ)
        if name.startswith(_BEGINNINGS) and not name.endswith(_NO_SETTINGS)
    )
    return {name: os.environ.get(name, "")[:_LONGEST] for name in names[:_MOST]}


def _versions() -> dict[str, str]:
    """Of what the program has loaded; nothing is loaded, and no device begun, for our sake."""
    torch: Any = sys.modules.get("torch")
    found = {"python": platform.python_version()}
    version = getattr(torch, "__version__", None)
    if version is not None:
        found["torch"] = str(version)
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
    if cuda is not None:
        found["cuda"] = str(cuda)
    nccl = getattr(getattr(torch, "_C", None), "_nccl_version", None)
    if nccl is not None:
        number = nccl()
        if isinstance(number, int):
            found["nccl"] = f"{number >> 32}.{number >> 16 & 0xFFFF}.{number & 0xFFFF}"
    return found
