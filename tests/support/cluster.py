"""Four hosts on this machine: namespaces with names, addresses and cables of their own.

Each host has a network namespace with one cable to a bridge, a name, an `/etc/hosts`, and a
`/dev/shm` of its own; cores are shared, and so is the disk. Faults are put into single cables.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PORT = 29400
_SUBNET = "10.88.77"
_LIMIT_S = 240.0


def may() -> str | None:
    """Why this machine cannot have such hosts; None where it can."""
    if os.geteuid() != 0:
        return "not root"
    lacking = [name for name in ("ip", "tc", "unshare", "iptables") if shutil.which(name) is None]
    return f"no {', '.join(lacking)}" if lacking else None


def ip(*words: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@dataclass(slots=True)
class Node:
    """One host.

    Attributes:
        environment: variables of its ranks, besides those of all.
        shm: size of its /dev/shm, as mount takes it.
        cores: which its ranks may use; None = all.
        dead: it does not start anything.
        group: a control group of version 1 that its ranks join.
        before: shell that it runs first, each command with its semicolon.
    """

    name: str
    address: str
    namespace: str
    environment: dict[str, str] = field(default_factory=dict)
    shm: str = "4g"
    cores: str | None = None
    dead: bool = False
    group: Path | None = None
    before: str = ""

    def inside(self, *words: str) -> None:
        """Run a command in its network."""
        ip("netns", "exec", self.namespace, *words)


@dataclass(slots=True)
class Cluster:
    """All hosts of a test."""

    nodes: list[Node]
    folder: Path

    def check(self, *options: str, ranks: int = 1, environment: Mapping[str, str] = {}) -> Report:
        """Run `unhang check` on every rank of every host; the report of rank 0."""
        output = self.folder / "report.json"
        output.unlink(missing_ok=True)
        hosts = self.folder / "hosts"
        hosts.write_text(
            "127.0.0.1 localhost\n" + "".join(f"{n.address} {n.name}\n" for n in self.nodes)
        )
        begun = time.monotonic()
        started = []
        try:
            for index, node in enumerate(self.nodes):
                for local in range(ranks):
                    if not node.dead:
                        seat = {
                            "RANK": index * ranks + local, "WORLD_SIZE": len(self.nodes) * ranks,
                            "LOCAL_RANK": local, "LOCAL_WORLD_SIZE": ranks,
                        }  # fmt: skip
                        started.append(self._start(node, seat, environment, options, hosts, output))
            errors = [_ended(process) for process in started]
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
        seconds = time.monotonic() - begun
        text = output.read_text("utf-8") if output.exists() else "{}"
        return Report(json.loads(text), tuple(errors), seconds)

    def _start(  # noqa: PLR0917
        self, node: Node, seat: Mapping[str, int], environment: Mapping[str, str],
        options: Sequence[str], hosts: Path, output: Path,
    ) -> subprocess.Popen[str]:  # fmt: skip
        program = [sys.executable, "-m", "unhang", "check", "--nagios", "--format", "json"]
        program += ["-o", str(output), *options]
        quoted = " ".join(f"'{word}'" for word in program)
        pinned = f"taskset -c {node.cores} " if node.cores else ""
        script = (
            f"hostname {node.name}; mount --bind {hosts} /etc/hosts;"
            f" mount -t tmpfs -o size={node.shm} none /dev/shm; {node.before}"
            f" exec {pinned}{quoted}"
        )
        own = {**os.environ, "MASTER_ADDR": self.nodes[0].address, "MASTER_PORT": str(PORT)}
        own |= {name: str(value) for name, value in seat.items()}
        # Behind `ip netns exec` there are no control groups.
        join = ["sh", "-c", f'echo $$ > {node.group}/cgroup.procs; exec "$@"', "sh"]
        inside = ["ip", "netns", "exec", node.namespace, "unshare", "--mount", "--uts"]
        return subprocess.Popen(
            [*(join if node.group else ()), *inside, "sh", "-c", script],
            env={**own, **environment, **node.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """What came out: the report, exit code and errors of each rank, and how long it took."""

    data: dict[str, Any]
    ends: tuple[tuple[int, str], ...]
    seconds: float

    @property
    def named(self) -> set[str]:
        """Hosts and links of all suspects."""
        return {s["host"] or " - ".join(sorted(s["link"])) for s in self.data["suspects"]}

    def faults(self) -> list[str]:
        """Everything that is not well, for a failing test to show."""
        return (
            [
                f"{s['name']} {s['host']} {s['status']}: {s['message']}"
                for s in self.data.get("stages", ())
                if s["status"] in ("warn", "fail")
            ]
            + [f"{s['host']}{s['link']}: {s['why']}" for s in self.data.get("suspects", ())]
            + [f"{code}: {error}" for code, error in self.ends if error]
        )


def _ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        _, error = process.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        stack = _stack(process.pid)
        process.kill()
        return -1, f"it did not end\n{stack}"
    return process.returncode, error


def _stack(pid: int) -> str:
    """Where a check stands that does not end, with the processes that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    program = Path(sys.executable).parent / "py-spy"
    if not program.exists():
        return "py-spy, which would tell where, is not installed"
    dump = subprocess.run(
        [program, "dump", "--pid", str(pid)], capture_output=True, text=True, check=False
    )
    return "\n".join((dump.stdout + dump.stderr, *(_stack(int(child)) for child in children)))


@contextlib.contextmanager
def cluster(folder: Path, count: int = 4) -> Iterator[Cluster]:
    """Make the hosts; they are gone at the end."""
    tag = f"uc{os.getpid() % 100_000}"
    bridge = f"{tag}-br"
    nodes = [
        Node(name=f"node{i}", address=f"{_SUBNET}.{i + 1}", namespace=f"{tag}-{i}")
        for i in range(count)
    ]
    try:
        ip("netns", "add", bridge)  # the switch has a namespace too: nothing of ours is outside
        ip("-n", bridge, "link", "add", "br0", "type", "bridge")
        ip("-n", bridge, "link", "set", "br0", "up")
        for i, node in enumerate(nodes):
            ip("netns", "add", node.namespace)
            ip("-n", node.namespace, "link", "add", "eth0", "type", "veth", "peer", "name",
               f"port{i}", "netns", bridge)  # fmt: skip
            ip("-n", bridge, "link", "set", f"port{i}", "master", "br0", "up")
            ip("-n", node.namespace, "address", "add", f"{node.address}/24", "dev", "eth0")
            ip("-n", node.namespace, "link", "set", "lo", "up")
            ip("-n", node.namespace, "link", "set", "eth0", "up")
        yield Cluster(nodes=nodes, folder=folder)
    finally:
        for name in (*(node.namespace for node in nodes), bridge):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "delete", name)
