"""Interfaces and addresses that lead nowhere from another host."""

from __future__ import annotations

from unhang import lazy_re as re

_PRIVATE_TO_ONE_HOST = re.compile(
    r"^(?:lo\d*|docker\d*|br-\w+|lx[cd]br\d+|virbr\d+|veth\w*|cni\d+|flannel\S*|tun\d+|tunl\d+|ip6tnl\d+|"
    r"gre\d+|sit\d+|dummy\d+|podman\d+|127\.\S+|169\.254\.\S+|fe80:\S*|::1)$"
)


def leads_nowhere(name: str) -> bool:
    """Whether `name` is loopback, a bridge of containers, a tunnel or a link-local address.

    >>> leads_nowhere("docker0"), leads_nowhere("169.254.3.1"), leads_nowhere("eth0")
    (True, True, False)
    """
    return _PRIVATE_TO_ONE_HOST.match(name) is not None
