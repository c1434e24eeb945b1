"""From a model's published description to its tensors: sizes, units of sharding, and back again."""

from __future__ import annotations

from unhang.architectures.decode import decode, group_size
from unhang.architectures.files import model_of, read_model
from unhang.architectures.hf import from_config
from unhang.architectures.known import find_model, known_models
from unhang.architectures.telling import tell_contents
from unhang.architectures.tensors import Architecture, GatheredUnit, Part, Tensor

__all__ = [
    "Architecture",
    "GatheredUnit",
    "Part",
    "Tensor",
    "decode",
    "find_model",
    "from_config",
    "group_size",
    "known_models",
    "model_of",
    "read_model",
    "tell_contents",
]
