"""A collective that only this process issues."""

from __future__ import annotations

import sys
from typing import Any

from ..declared import Fault


def issue_one_more(fault: Fault) -> None:
    """One more call than the others make: `op`, by default an all_reduce of one number."""
    issue(
        sys.modules["torch.distributed.distributed_c10d"],
        str(fault.options.get("op", "all_reduce")),
    )


def issue(c10d: Any, op: str) -> Any:
    """A call of `op` on one number, or a barrier."""
    import torch

    return c10d.barrier() if op == "barrier" else getattr(c10d, op)(torch.ones(1))
