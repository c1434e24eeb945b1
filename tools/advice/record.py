"""What a recorded result was measured on: the data of which patches are made."""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_MADE_OF = ("src/unhang/settings/data/frameworks/*.json",)


def fingerprint() -> str:
    """A short hash; it changes when patches may."""
    digest = hashlib.sha256()
    for pattern in _MADE_OF:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
