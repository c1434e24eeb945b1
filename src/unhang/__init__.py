"""unhang: a judge for distributed training that hangs.

>>> import unhang
>>> unhang.__version__
'0.1.0'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhang.declared import phase, step
from unhang.errors import ArtifactError, UnhangError, UnsafeArtifact, UsageError

if TYPE_CHECKING:
    from unhang.api import compare, diagnose, explain, fix, fleet, lint, plan
    from unhang.benching import bench
    from unhang.capturing import capture
    from unhang.checking import check
    from unhang.live.session import run
    from unhang.mcp_server import mcp
    from unhang.model.diagnosis import Diagnosis
    from unhang.model.finding import Finding
    from unhang.screens import serve, watch
    from unhang.tracing import timeline

__version__ = "0.1.0"

__all__ = [
    "ArtifactError",
    "Diagnosis",
    "Finding",
    "UnhangError",
    "UnsafeArtifact",
    "UsageError",
    "__version__",
    "bench",
    "capture",
    "check",
    "compare",
    "diagnose",
    "explain",
    "fix",
    "fleet",
    "lint",
    "mcp",
    "phase",
    "plan",
    "run",
    "serve",
    "step",
    "timeline",
    "watch",
]

_LAZY = {
    "bench": "unhang.benching",
    "capture": "unhang.capturing",
    "check": "unhang.checking",
    "compare": "unhang.api",
    "diagnose": "unhang.api",
    "explain": "unhang.api",
    "fix": "unhang.api",
    "fleet": "unhang.api",
    "lint": "unhang.api",
    "mcp": "unhang.mcp_server",
    "plan": "unhang.api",
    "run": "unhang.live.session",
    "serve": "unhang.screens",
    "timeline": "unhang.tracing",
    "watch": "unhang.screens",
    "Diagnosis": "unhang.model.diagnosis",
    "Finding": "unhang.model.finding",
}


def __getattr__(name: str) -> object:
    """Load the heavier parts on first use: `import unhang` stays cheap."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'unhang' has no attribute {name!r}")
