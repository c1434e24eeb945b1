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

import re
from collections.abc import Iterator
from typing import ClassVar

from unhang.model.events import Event, StopKind, StopSeen
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_KINDS: tuple[tuple[StopKind, re.Pattern[str]], ...] = (
    (
        StopKind.INTERRUPT,
        re.compile(
            r"^[\s|+]*\^?C?(?:[\w.]+\.)?KeyboardInterrupt\s*(?::\s*)?$|"
            r"(?:Detected|Caught|Received|Got)(?: a)? (?:KeyboardInterrupt|keyboard interrupt|"
            r"SIGINT|Ctrl[-+]C)|"
            r"[Kk]eyboard interruption|[Ii]nterrupted by (?:the )?user|"
            r"interrupted by signal 2\b|Ctrl ?[-+]? ?C (?:detected|pressed|received)|"
            r"^\^C\s*$|^\^C(?:Traceback|W\d{4}|\[)|received signal 2\b|SIGINT (?:received|caught)",
        ),
    ),
    (
        StopKind.HANGUP,
        re.compile(
            r"^\s*Hangup\s*$|(?:received|caught|got|Received|Caught|Got)(?: signal)? SIGHUP|"
            r"SIGHUP received|Connection to \S{1,200} closed(?: by remote host)?\.|"
            r"client_loop: send disconnect",
        ),
    ),
    (
        StopKind.PREEMPTED,
        re.compile(
            r"(?:spot|preempt\w{0,6}|maintenance)[ -](?:instance )?(?:interruption|termination|"
            r"notice|event) (?:notice |warning )?(?:received|detected|scheduled)|"
            r"(?:job|instance|node|VM|worker) (?:was |is being |has been |will be )?preempted\b|"
            r"(?:spot|preempt\w{0,6}|maintenance)[ -](?:instance )?(?:interruption|termination|"
            r"event)[ -](?:notice|warning)|(?:interruption|termination|preemption) notice\b|"
            r"handling auto-requeue signal|Caught signal SIGUSR[12] on\b|"
            r"Job (?:is|has been) (?:timed[ -]out|preempted)",
            re.IGNORECASE,
        ),
    ),
    (
        StopKind.TIME_LIMIT,
        re.compile(
            r"(?:job|run|wall[ -]?time|maximum run ?time|MaxRuntime\w*) "
            r"(?:has )?(?:exceeded|reached|hit) (?:the |its )?(?:wall ?time|time|run ?time) limit|"
            r"walltime limit (?:exceeded|reached)",
            re.IGNORECASE,
        ),
    ),
    (
        StopKind.CANCELLED,
        re.compile(
            r"(?:job|run|task|experiment) (?:\S{1,80} )?(?:was |has been |is )?"
            r"(?:cancell?ed|stopped|killed|aborted) by (?:the )?(?:user|administrator|admin)",
            re.IGNORECASE,
        ),
    ),
    (
        StopKind.TERMINATED,
        re.compile(
            r"^\s*(?:\S{0,200}: line \d{1,7}:\s+\d{0,10}\s*)?Terminated\s*(?:\s{2}.{0,400})?$|"
            r"(?:[Rr]eceived|[Cc]aught|[Gg]ot|[Ee]xiting on|after receiving)"
            r"(?: a)?(?: signal)?:?\s+"
            r"(?:SIGTERM\b(?!: 15)|signal 15\b|15\b(?= \(SIGTERM\))|termination signal)|"
            r"SIGTERM (?:received|caught)|[Ss]ignal 15 received",
        ),
    ),
)


class StopsParser(LineParser):
    """Parser of stops that no launcher's or scheduler's own format tells."""

    NAME: ClassVar[str] = "stops"
    NEEDLES: ClassVar[tuple[str, ...]] = (
        "KeyboardInterrupt",
        "eyboard interrupt",
        "nterrupted by",
        "SIGINT",
        "SIGTERM",
        "SIGHUP",
        "SIGUSR",
        "^C",
        "Ctrl",
        "Hangup",
        "Terminated",
        "ignal 15",
        "signal 2",
        "termination signal",
        " closed by remote host",
        "client_loop: send",
        "reempt",
        "nterruption",
        "by user",
        "by the user",
        "time limit",
        "auto-requeue",
        "timed-out",
    )

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the stop that this line tells; one line tells one."""
        for kind, pattern in _KINDS:
            if line.says(pattern, within=True):
                yield StopSeen(**place(line), kind=kind)
                return
