"""The fast selection gives what the plain definition gives, on every recorded and written job."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from unhang.engine.reading import WANTED
from unhang.sources.artifact import Artifact
from unhang.sources.clean import clean
from unhang.sources.peel import peel
from unhang.sources.select import select
from unhang.sources.unwrap import LineUnit, rejoin

CASES = Path(__file__).resolve().parents[1] / "cases"
LOGS = sorted(path for path in CASES.glob("*/input/**/*") if path.is_file())
FILLER = "".join(f"tokens per second {n}, memory 61.2 GiB\n" for n in range(300)).encode()
RARE = [index for index, want in enumerate(WANTED) if not want.sampled]


@cache  # most lines come again
def described(text: str) -> tuple[bool, frozenset[int]]:
    """Whether a line is more than a wrapper without a message, and who finds a needle in it."""
    wanted = (r for r in RARE if any(needle in text for needle in WANTED[r].needles))
    return any(peel(text)), frozenset(wanted)


def defined(data: bytes) -> dict[int, list[tuple[int, str]]]:
    """Lines with a needle of each reader, and as many after each as it asks for."""
    units = (
        LineUnit(number=number, text=text)
        for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), 1)
        for text in map(clean, line.split("\r"))
        if text.strip()
    )
    lines: dict[int, list[tuple[int, str]]] = {reader: [] for reader in RARE}
    left: dict[int, int] = {}
    for unit in rejoin(units):
        told, wanted = described(unit.text)
        left |= {reader: WANTED[reader].after + 1 for reader in wanted}
        for reader in left:
            left[reader] -= 1
            if told:
                lines[reader].append((unit.number, unit.text))
        left = {reader: after for reader, after in left.items() if after > 0}
    return lines


def glued(pieces: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Everything that stands on each line: messages are separated in one, not in the other."""
    lines: dict[int, str] = {}
    for number, text in pieces:
        lines[number] = lines.get(number, "") + "".join(text.split())
    return lines


def test_on_all_jobs_within_healthy_logs() -> None:
    logs = [b"\n\n" + path.read_bytes() + b"\n\n" for path in LOGS]
    data = b"".join(part for log in logs[::3] for part in (log, FILLER)) + b"".join(logs)
    artifact = Artifact(name="log", open=lambda: io.BytesIO(data))
    expected = defined(data)
    for plain in (False, True):
        found: dict[int, list[tuple[int, str]]] = {reader: [] for reader in RARE}
        for line, readers in select(artifact, WANTED, plain=plain):
            for reader in readers & found.keys():
                found[reader].append((line.number, line.raw))
        for reader in RARE:
            assert glued(found[reader]) == glued(expected[reader]), WANTED[reader]
