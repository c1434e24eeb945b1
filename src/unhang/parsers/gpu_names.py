"""From lines that list the GPUs of a host to the model of GPU.

Reads::

    GPU 0: NVIDIA H20 (UUID: GPU-…)
    [0] NVIDIA A100-SXM4-80GB | 45'C, 0 %
    Device 0: "NVIDIA H100 80GB HBM3"
    gpu_name: NVIDIA GeForce RTX 4090

A model is said once for each speaker.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, VersionSeen
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_MODEL = re.compile(
    r"\b(?P<model>NVIDIA\s(?:Tesla\s|GeForce\s|Quadro\s)?(?:RTX\s|GTX\s)?"
    r"(?:[ABHLVTP]\d{1,3}\w{0,6}|GB?H?\d{3}\w{0,4}|\d{4}|TITAN)"
    r"(?:[ -](?:SXM\d?|PCIe|NVL|HBM\d\w?|\d{2,3}GB|Ti|SUPER|Ada|Generation))*)"
)


class GpuNamesParser(LineParser, name="gpu-names", needles=("NVIDIA ",), sampled=True):
    """Parser of GPU models."""

    def __init__(self) -> None:
        self._said: set[tuple[Origin, str]] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the models on this line."""
        for match in _MODEL.finditer(line.text):
            key = (line.origin, match["model"])
            if key not in self._said:
                self._said.add(key)
                yield VersionSeen(
                    **place(line), component="gpu", version=match["model"], basis="GPU list"
                )
