"""What the network hardware of two hosts is built for, against what was measured between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from unhang.checking.isolation import Group
from unhang.model.preflight import Stage

SOURCE = "/sys/class/net/*/speed"
_PAYLOAD = 1448 / 1538
"""Of a full Ethernet frame with its preamble and gap, at an MTU of 1,500 and with time stamps."""
_SHORT = 0.5
_ONE_STREAM = 25e9 / 8
"""Bytes per second up to which one TCP stream fills a link; above, a core is what limits it."""


def promised_rates(stages: Iterable[Stage], pairs: Iterable[Group]) -> dict[Group, int]:
    """Bytes of payload per second that the slower interface of each pair can carry.

    Args:
        stages: with each host's interfaces; a virtual one promises nothing.
        pairs: of hosts.
    """
    mbit = {
        stage.host: stage.measured.get("interface_mbit")
        for stage in stages
        if stage.name == "nics" and stage.host
    }
    found = {}
    for pair in pairs:
        ends = [rate for host in pair if isinstance(rate := mbit.get(host), int)]
        if len(ends) == len(pair):
            found[pair] = round(min(ends) * 1e6 / 8 * _PAYLOAD)
    return found


def furthest_below(
    rates: Mapping[Group, float], promised: Mapping[Group, int], starved: Mapping[Group, float]
) -> Group | None:
    """The pair that stays furthest below its hardware, if by more than half.

    Args:
        rates: bytes per second that one TCP stream had.
        promised: by the hardware; pairs that a stream cannot fill are left out.
        starved: share of the time in which the ends had no core to run on.
    """
    shares = {
        pair: rates[pair] / (rate * max(0.02, 1 - starved.get(pair, 0.0)))
        for pair, rate in promised.items()
        if 0 < rate <= _ONE_STREAM
    }
    least = min(shares, key=lambda pair: shares[pair], default=None)
    return least if least is not None and shares[least] < _SHORT else None
