"""What cannot be done safely: the reason, and what to do by hand."""

from __future__ import annotations

from unhang.errors import UsageError


class Refusal(UsageError):
    """This fix cannot be written into this file; another one may."""
