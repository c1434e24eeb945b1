"""From lines to events: one file per format; `PARSERS` lists them."""

from __future__ import annotations

from unhang.parsers.base import Parser
from unhang.parsers.watchdog import WatchdogParser

PARSERS: tuple[type[Parser], ...] = (WatchdogParser,)
"""Every parser, in alphabetical order of module."""
