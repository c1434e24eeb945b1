"""Sets variables in files that hold little else: `.env`, `nccl.conf`, Dockerfiles."""

from __future__ import annotations

from collections.abc import Sequence

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal


def set_variable(
    text: str, name: str, raw: str, *, newline: str = "\n", guard: Guard = accept
) -> str:
    """Return a file of `NAME=value` lines with one of them set."""
    pattern = re.compile(
        rf"^([ \t]*(?:export[ \t]+)?{re.escape(name)}[ \t]*=[ \t]*)([^\r\n]*)", re.MULTILINE
    )
    found = _only(text, list(pattern.finditer(text)), name)
    if found is not None:
        return _put(text, found, 2, raw, guard)
    gap = "" if not text or text.endswith("\n") else newline
    return f"{text}{gap}{name}={raw}{newline}"


def set_docker_variable(
    text: str, name: str, raw: str, *, newline: str = "\n", guard: Guard = accept
) -> str:
    """Return a Dockerfile with `ENV name=raw` in its last stage."""
    said = re.compile(
        rf"^(?!\s*#).*?\b{re.escape(name)}[= ](\"[^\"\n]*\"|[^\s\"\\]+)", re.MULTILINE
    )
    found = _only(text, list(said.finditer(text)), name)
    if found is not None:
        return _put(text, found, 1, raw, guard)
    stage = max((m.start() for m in re.finditer(r"(?im)^\s*FROM\s", text)), default=None)
    if stage is None:
        raise Refusal("it has no FROM line, so it is not a Dockerfile that can be changed")
    last = [m for m in re.finditer(r"(?im)^ENV[ \t](?:.*\\\r?\n)*.*", text) if m.start() > stage]
    entry = re.compile(r"(?im)^(?:CMD|ENTRYPOINT)\b").search(text, stage)
    line = f"ENV {name}={raw}"
    if last:
        at = last[-1].end() - (1 if last[-1].group().endswith("\r") else 0)
        return f"{text[:at]}{newline}{line}{text[at:]}"
    at = len(text) if entry is None else entry.start()
    gap = "" if text[:at].endswith("\n") else newline
    return f"{text[:at]}{gap}{line}{newline}{text[at:]}"


def _only(text: str, found: Sequence[re.Match[str]], name: str) -> re.Match[str] | None:
    if len(found) > 1:
        lines = ", ".join(str(text.count("\n", 0, m.start(1)) + 1) for m in found)
        raise Refusal(f"{name} is set {len(found)} times (lines {lines})")
    return found[0] if found else None


def _put(text: str, found: re.Match[str], group: int, raw: str, guard: Guard) -> str:
    if "$" in found[group]:
        line = text.count("\n", 0, found.start(group)) + 1
        raise Refusal(f"line {line} computes it ({found[group]}): set it there to {raw}")
    guard(found[group])
    return f"{text[: found.start(group)]}{raw}{text[found.end(group) :]}"
