"""The package's own source, parsed once for all tests that read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import unhang

PACKAGE = Path(unhang.__file__).parent


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every module, by its file."""
    return {
        file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(PACKAGE.rglob("*.py"))
    }
