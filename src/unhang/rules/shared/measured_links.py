"""What people measured between their hosts: which links are slow."""

from __future__ import annotations

from unhang.model.events import LinkMeasured
from unhang.model.incident import Incident

_SLOW = 0.5
"""Share of the fastest link that a healthy one of the same kind reaches."""


def slow_links(incident: Incident) -> tuple[LinkMeasured, ...]:
    """The links that carried less than half of what the best one did."""
    links = incident.all(LinkMeasured)
    best = max((link.gbps for link in links), default=0.0)
    return tuple(link for link in links if link.gbps < _SLOW * best)
