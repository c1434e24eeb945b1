"""Two nodes on one machine: network namespaces that a cable connects."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from unhang.errors import UnhangError

_SUBNET = "10.77.18"


class NetworkError(UnhangError):
    """The kernel refused to make the nodes of a drill."""


@dataclass(frozen=True, slots=True)
class NodeNamespace:
    """One namespace.

    Attributes:
        namespace: its name; its end of the cable is `eth0`.
        address: of `eth0`.
    """

    namespace: str
    address: str

    def inside(self, *command: str) -> tuple[str, ...]:
        """The command, run in the namespace."""
        return ("ip", "netns", "exec", self.namespace, *command)


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[NodeNamespace, NodeNamespace]]:
    """Make two connected nodes; they are gone at the end.

    Raises:
        NetworkError: the kernel, or a lack of rights, forbids it.
    """
    tag = f"unhang-{os.getpid()}"
    nodes = tuple(NodeNamespace(f"{tag}-{i}", f"{_SUBNET}.{i + 1}") for i in range(2))
    try:
        for node in nodes:
            _ip("netns", "add", node.namespace)
        # Made inside the namespaces, so that no name of this machine's devices can be in the way.
        _ip(
            *("-n", nodes[0].namespace, "link", "add", "eth0", "type", "veth"),
            *("peer", "name", "eth0", "netns", nodes[1].namespace),
        )
        for node in nodes:
            _ip("-n", node.namespace, "address", "add", f"{node.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", node.namespace, "link", "set", "dev", device, "up")
        yield nodes[0], nodes[1]
    finally:
        for node in nodes:
            with contextlib.suppress(NetworkError):
                _ip("netns", "delete", node.namespace)


def _ip(*arguments: str) -> None:
    done = subprocess.run(
        ["ip", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NetworkError(
            f"`ip {' '.join(arguments)}` failed ({done.stderr.strip()}); a drill with two nodes"
            " needs root and a kernel with namespaces"
        )
