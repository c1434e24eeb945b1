"""From interrupts, termination signals and notices to stops from outside.

Reads::

    KeyboardInterrupt
    Keyboard interruption. Exiting from early training
    Received SIGTERM, exiting gracefully
    Terminated
    exiting program after receiving SIGTERM.
    Connection to node1 closed by remote host.
    Spot interruption notice received

Traps: launchers end the other ranks by SIGTERM after a failure, so "received SIGTERM" in a
worker's log may be an echo: rules compare it with what came before; `Terminating` is not
`Terminated`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import Event, StopKind, StopSeen
from unhang.model.forms import patterns_of
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_KINDS = patterns_of(StopKind, "unhang.parsers", "data/stops.toml")


class StopsParser(LineParser, name="stops"):
    """Parser of stops that no launcher's or scheduler's own format tells."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the stop that this line tells; one line tells one."""
        for kind, pattern in _KINDS:
            if line.says(pattern, within=True):
                yield StopSeen(**place(line), kind=kind)
                return
