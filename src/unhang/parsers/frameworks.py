"""From log marks, package paths and launch commands to `FrameworkSeen`; never by guessing.

Reads::

    [2026-03-02 08:14:40,531] [INFO] [comm.py:861:init_distributed] Initializing TorchBackend …
    File "/opt/env/lib/python3.11/site-packages/trl/trainer/sft_trainer.py", line 901, in …
    llamafactory-cli train sft.yaml

Traps: a wrapper also shows the layer below it (LLaMA-Factory prints what transformers prints), so
several frameworks are said and the outermost one is chosen later; the same mark is repeated on
thousands of lines and is said now and then only (a log may hold several runs).
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, FrameworkSeen
from unhang.parsers.base import LineParser, place
from unhang.settings.log_marks import fingerprints
from unhang.sources.line import Line

_REPEAT_AFTER_LINES = 500
_LINE_LIMIT = 4000


class FrameworkParser(
    LineParser,
    name="frameworks",
    needles=tuple(dict.fromkeys(f.needle for f in fingerprints())),
    sampled=True,
):
    """Parser of framework fingerprints."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], int] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the frameworks whose mark this line holds, unless said a short while ago."""
        text = line.raw[:_LINE_LIMIT]  # prefixes such as `(WorkerDict pid=…)` are marks too
        for mark in fingerprints():
            if mark.needle not in text:
                continue
            if mark.pattern is not None and mark.pattern.search(text) is None:
                continue
            key = mark.framework, mark.basis
            if line.number - self._said.get(key, -_REPEAT_AFTER_LINES) >= _REPEAT_AFTER_LINES:
                self._said[key] = line.number
                yield FrameworkSeen(
                    **place(line), name=mark.framework, basis=f"{mark.basis} `{mark.needle}`"
                )
