"""From lines to events: one file per format, found by walking the package; `PARSERS` lists them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from unhang.parsers.base import Parser


def _found() -> Iterator[type[Parser]]:
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        for kind in vars(importlib.import_module(info.name)).values():
            if isinstance(kind, type) and kind.__module__ == info.name and "NAME" in vars(kind):
                yield kind


PARSERS: tuple[type[Parser], ...] = tuple(_found())
"""Every parser, in alphabetical order of module."""

READ_ANY_WORDS = frozenset(
    {
        *("debug-server", "error-file", "json-stacks", "ras-json", "run-record", "inspector"),
        *(
            "gpu-names",
            "gpu-pace",
            "gpu-report",
            "gpu-table",
            "gpu-uuids",
            "port-report",
            "topology",
            "nccl-tests",
        ),
        *("check-report", "schedulers-asked"),
        *("native-stacks", "native-threads", "python-stacks", "kernel-stacks", "stacks_seen"),
        *("loops-stood", "pids"),
        *("endings", "frameworks", "membership", "settings_seen", "torch_version", "versions"),
        *("host-addresses", "host-answers", "link-pairs", "placement", "shm-space"),
        *("dropped-lines", "nccl-info", "phase_marks", "progress", "traceback"),
    }
)
"""Parsers that are also fed with commands, comments and quotations: they tell what a job is and
does, or know the beginning of what they read by themselves. All others tell of failures."""
