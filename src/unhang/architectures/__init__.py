"""From a model's published description to its tensors: sizes, units of sharding, and back again."""

from __future__ import annotations

from unhang.architectures.decode import Reading, decode
from unhang.architectures.files import read_model
from unhang.architectures.hf import from_config
from unhang.architectures.known import find_model, known_models
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor

__all__ = [
    "Architecture",
    "GatheredUnit",
    "Part",
    "Reading",
    "Tensor",
    "decode",
    "find_model",
    "from_config",
    "known_models",
    "read_model",
]
