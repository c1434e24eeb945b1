"""Cures that are the same for every framework."""

from __future__ import annotations

from collections.abc import Mapping

from unhang.remedies.cures import Cure, GeneralCure
from unhang.remedies.general import agreement, fabric, known, processes

GENERAL: Mapping[Cure, GeneralCure] = {
    **processes.CURES,
    **agreement.CURES,
    **fabric.CURES,
    **known.CURES,
}
"""By cure; each may answer None where the case does not call for it."""
