"""The package's tables of model families and known models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from unhang.model.toml import load


@cache
def table(name: str) -> Mapping[str, Any]:
    """One of the TOML tables beside this module."""
    return load("unhang.architectures", f"data/{name}.toml")
