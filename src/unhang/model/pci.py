"""PCI addresses, as the tools and logs spell them, in one form."""

from __future__ import annotations

from unhang import lazy_re as re

_SPELT = re.compile(r"(?:[0-9a-f]{4,8}:)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})(?:\.\d)?")
_NUMBER = re.compile(r"(?:0x)?(?P<bus>[0-9a-f]{1,2})(?P<device>[0-9a-f]{2})(?P<function>[0-9a-f])")


def pci_address(text: str) -> str | None:
    """Return `bus:device` of an address, or None where the text is none.

    NCCL prints it as one hexadecimal number: eight bits of the bus, eight of the device, four of
    the function.

    >>> pci_address("0000:3B:00.0")
    '3b:00'
    >>> pci_address("3b000")
    '3b:00'
    >>> pci_address("eth0")
    """
    match = _SPELT.fullmatch(text.lower()) or _NUMBER.fullmatch(text.lower())
    return None if match is None else f"{match['bus']:0>2}:{match['device']}"
