"""What a test needs of the machine, told without importing it: `import torch` takes seconds."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
