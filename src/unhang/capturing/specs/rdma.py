"""Counters of every RDMA port, read twice: what grows in a hang tells which link works."""

from __future__ import annotations

from collections.abc import Iterator

from unhang.capturing.reading import ReadRequest
from unhang.capturing.source_context import SourceContext, absent
from unhang.capturing.spec import About, Piece, Spec

_ROOT = "/sys/class/infiniband"
_GROUPS = ("counters", "hw_counters")
_STATE = ("state", "phys_state", "rate", "link_layer")
_BETWEEN_S = 1.0


def gather(context: SourceContext) -> Iterator[Piece]:
    """One table: port, counter, value, what it grew by."""
    ports = _ports(context)
    if not ports:
        raise absent("no_device", what="RDMA adapter")
    names = _counters(context, ports)
    before = _values(context, names)
    context.pause(_BETWEEN_S)
    after = _values(context, names)
    lines = [f"port counter value in_{_BETWEEN_S:.0f}s"]
    for name, value in before.items():
        port, counter = _split(name)
        grown = _grown(value, after.get(name))
        lines.append(f"{port} {counter} {value} {grown}")
    yield Piece(name="rdma.txt", data=("\n".join(lines) + "\n").encode())


def _list(context: SourceContext, folders: list[str]) -> list[str]:
    """What is in folders, with the folders before it; nothing where they are not."""
    answers = context.read(*(ReadRequest(folder, "list", 1_000) for folder in folders))
    return [f"{a.request.path}/{name}" for a in answers for name in a.names]


def _ports(context: SourceContext) -> list[str]:
    devices = _list(context, [_ROOT])
    return _list(context, [f"{device}/ports" for device in devices]) if devices else []


def _counters(context: SourceContext, ports: list[str]) -> list[str]:
    fixed = [f"{port}/{name}" for port in ports for name in _STATE]
    counters = _list(context, [f"{port}/{group}" for port in ports for group in _GROUPS])
    return fixed + [name for name in counters if not name.endswith("/lifespan")]


def _values(context: SourceContext, names: list[str]) -> dict[str, str]:
    answers = context.heads(names)
    return {a.request.path: a.text.strip() for a in answers if a.error is None}


def _split(path: str) -> tuple[str, str]:
    device, _, port, *counter = path.removeprefix(f"{_ROOT}/").split("/")
    return f"{device}/{port}", counter[-1]


def _grown(before: str, after: str | None) -> str:
    if after is None or not (before.isdigit() and after.isdigit()):
        return "-" if after in {None, before} else f"now {after}"
    return str(int(after) - int(before))


SPEC = Spec(name="rdma-counters", about=About.HOST, gather=gather, limit_s=12.0, order=3)
