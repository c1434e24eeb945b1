"""From the clocks, power limits and links of GPUs to those that run far below their peers.

Reads, by whatever tool, of one host or of several::

    h-17: 5, 87, 371.28 W, 990 MHz, 0x0000000000000068       (nvidia-smi --query-gpu=index,…)
    # gpu   pwr gtemp mtemp  mclk  pclk                      (nvidia-smi dmon, and its rows)
        1    72    40     -  3615   379
    | N/A   38C    P0   149W / 150W |  61022MiB / 81251MiB | (nvidia-smi, below the GPU's index)
    index, name, pcie.link.gen.current, pcie.link.gen.max, … (a header, and its rows)

Only GPUs of one listing are compared: what all of them have is how that model runs, and a limit in
software is set alike on all. Traps: a GPU without work lowers its clock by itself, so that a low
clock says something only beside a bit of the hardware's, or beside the time that its rank takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from unhang import lazy_re as re
from unhang.model.events import Event, HostProblem, HostReport
from unhang.model.ids import LocalRank
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_HOST = re.compile(r"\[?(?:\w+@)?(?P<host>[A-Za-z][\w.-]{0,60})(?:[: ][^$#]{0,60})?\]?[$#] ")
_ROW = re.compile(
    r"\s*(?:(?P<host>[A-Za-z][\w.-]{0,60}): ?)?(?P<index>\d{1,2})(?:[,\s|]\s*|\s+)(?=\S)"
)
_HEAD = re.compile(r"^\|\s*(?P<index>\d{1,3})\s+\S.{0,60}?\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_CLOCK = re.compile(r"(?<![\w.])(?P<clock>\d{2,5}) ?MHz\b")
_LIMIT = re.compile(r"\b\d{1,4}(?:\.\d{1,2})? ?W ?/ ?(?P<limit>\d{2,4})(?:\.\d{1,2})? ?W\b")
_BITS = re.compile(r"\b0x(?P<bits>[0-9a-fA-F]{16})\b")
_BY_HARDWARE = 0x8 | 0x20 | 0x40 | 0x80
"""Slowed by the hardware, by heat (software and hardware), by the power brake (nvml.h)."""
_COLUMNS = re.compile(r"\s*#?\s*(?P<names>(?:index|gpu)\b[\w.\[\], ]{4,400})$", re.IGNORECASE)
_FAR_BELOW = 0.75
_FEWEST, _MOST = 3, 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gpu:
    line: Line
    host: str | None
    index: int
    clock: float | None = None
    limit: float | None = None
    link: float | None = None
    slowed: bool = False


class GpuPaceParser(
    LineParser,
    name="gpu-pace",
    needles=("MHz", "W /", "W/", " pclk", "pcie.link", "# gpu"),
    after=64,
    sampled=True,
):
    """Parser of listings of GPUs."""

    def __init__(self) -> None:
        self._gpus: list[_Gpu] = []
        self._host: str | None = None
        self._columns: Sequence[str] = ()
        self._above: int | None = None

    def feed(self, line: Line) -> Iterator[Event]:
        """Keep what the line tells of a GPU."""
        text = line.text
        prompt = _HOST.match(text)
        if prompt is not None:
            self._host, self._columns = prompt["host"], ()
            return iter(())
        columns = _COLUMNS.match(text)
        if columns is not None and not any(sign.isdigit() for sign in columns["names"][:8]):
            self._columns = _cells(columns["names"].lower())
            return iter(())
        head = _HEAD.match(text)
        if head is not None:
            self._above = int(head["index"])
        elif len(self._gpus) < _MOST:
            gpu = self._row(line, text)
            if gpu is not None:
                self._gpus.append(gpu)
        return iter(())

    def _row(self, line: Line, text: str) -> _Gpu | None:
        host = line.origin.host or self._host
        limit, clock, bits = _LIMIT.search(text), _CLOCK.search(text), _BITS.search(text)
        if self._above is not None and text.startswith("|"):
            index, self._above = self._above, None
            return limit and _Gpu(line=line, host=host, index=index, limit=float(limit["limit"]))
        row = _ROW.match(text)
        if row is None:
            return None
        told = dict(zip(self._columns, _cells(text), strict=False))
        speed = _number(told.get("pclk")) or _number(told.get("clocks.sm"))
        link = _link(told)
        if not (limit or clock or speed or link):
            return None
        return _Gpu(
            line=line,
            host=row["host"] or host,
            index=int(row["index"]),
            clock=float(clock["clock"]) if clock else speed,
            limit=float(limit["limit"]) if limit else None,
            link=link,
            slowed=bits is not None and int(bits["bits"], 16) & _BY_HARDWARE > 0,
        )

    def finish(self) -> Iterator[Event]:
        """Say who runs far below the others."""
        # Of several hosts, an index tells no rank.
        alone = len({gpu.host for gpu in self._gpus}) == 1
        for gpu in self._gpus:
            for name, unit in (("clock", " MHz"), ("limit", " W"), ("link", " of its PCIe link")):
                own = getattr(gpu, name)
                values = [v for g in self._gpus if (v := getattr(g, name)) is not None]
                if own is None or len(values) < _FEWEST or own > _FAR_BELOW * median(values):
                    continue
                fields = place(gpu.line)
                local = LocalRank(gpu.index) if alone else None
                fields["origin"] = replace(gpu.line.origin, host=gpu.host, local_rank=local)
                problem = HostProblem.GPU_LINK_SLOW if name == "link" else HostProblem.GPU_BEHIND
                yield HostReport(
                    **fields,
                    problem=HostProblem.GPU_SLOWED_ALONE if gpu.slowed else problem,
                    detail=f"GPU {gpu.index}: {own:.4g}{unit}, others {median(values):.4g}{unit}",
                )
                break


def _cells(text: str) -> list[str]:
    parts = text.split(",") if "," in text else text.split()
    return [part.strip() for part in parts]


def _number(text: str | None) -> float | None:
    match = re.match(r"\d{1,6}(?:\.\d{1,3})?", text or "")
    return None if match is None else float(match[0])


def _link(told: dict[str, str]) -> float | None:
    """How much of what it can a PCIe link gives: its generation doubles, its width multiplies."""
    names = ("gen.current", "gen.max", "width.current", "width.max")
    gen, most, width, widest = (_number(told.get(f"pcie.link.{name}")) for name in names)
    if not (gen and most and width and widest):
        return None
    return float(2 ** (gen - most) * width / widest)
