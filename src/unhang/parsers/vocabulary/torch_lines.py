"""Which line of ProcessGroupNCCL.cpp prints which message, by release of torch.

Read out of the released binaries and compared with public logs. A patch release may move a
line; NVIDIA's containers and nightly builds have numbers of their own.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping


class TorchMessage(enum.Enum):
    """Messages whose place in the source is known."""

    TIMEOUT = "time-out"
    FAILED = "operations have failed"
    TEARDOWN = "taking the process down"
    REPORT = "failure detected by watchdog"
    REPORT_LATER = "timeout at NCCL work"
    TERMINATED = "watchdog thread terminated"
    STACK_FOUND = "stack trace of the failed collective"
    STACK_NOT_FOUND = "stack trace not found"
    DUMP = "preparing to dump"
    SIGNAL = "dump signal"
    FIRST = "first PG on this rank"


SIGNS: tuple[tuple[TorchMessage, re.Pattern[str]], ...] = (
    (TorchMessage.TERMINATED, re.compile(r"watchdog\s*thread\s*terminated\s*with")),
    (TorchMessage.TIMEOUT, re.compile(r"Watchdog\s*caught\s*collective\s*operation\s*timeout")),
    (TorchMessage.FAILED, re.compile(r"Some\s*NCCL\s*operations\s*have\s*failed")),
    (TorchMessage.TEARDOWN, re.compile(r"To\s*avoid\s*data\s*inconsistency")),
    (TorchMessage.REPORT, re.compile(r"detected\s*by\s*watchdog\s*at\s*work")),
    (TorchMessage.REPORT_LATER, re.compile(r"Timeout\s*at\s*NCCL\s*work")),
    (
        TorchMessage.STACK_NOT_FOUND,
        re.compile(r"Stack\s*trace\s*of\s*the\s*failed\s*collective\s*not"),
    ),
    (TorchMessage.STACK_FOUND, re.compile(r"Stack\s*trace\s*of\s*the\s*failed\s*collective:")),
    (TorchMessage.DUMP, re.compile(r"preparing\s*to\s*dump\s*debug")),
    (TorchMessage.SIGNAL, re.compile(r"Received\s*a\s*dump\s*signal|Observed\s*flight\s*recorder")),
    (TorchMessage.FIRST, re.compile(r"First\s*PG\s*on\s*this\s*rank")),
)
"""How to tell which message a line holds; the first that matches."""

_T = TorchMessage
RELEASES: Mapping[str, Mapping[TorchMessage, frozenset[int]]] = {
    version: {message: frozenset(numbers) for message, numbers in lines.items()}
    for version, lines in {
        "1.12.1": {_T.TIMEOUT: {737}},
        "1.13.1": {_T.TIMEOUT: {821}, _T.FAILED: {456}, _T.TEARDOWN: {461}},
        "2.0.1": {_T.TIMEOUT: {828}, _T.FAILED: {455}, _T.TEARDOWN: {460}},
        "2.1.2": {_T.TIMEOUT: {475}, _T.FAILED: {489}, _T.TEARDOWN: {495}},
        "2.2.2": {_T.TIMEOUT: {523}, _T.FAILED: {537}, _T.TEARDOWN: {543}},
        "2.3.1": {
            _T.TIMEOUT: {563},
            _T.FAILED: {577},
            _T.TEARDOWN: {583},
            _T.REPORT_LATER: {1537},
            _T.TERMINATED: {1414},
            _T.DUMP: {1153},
        },
        "2.4.1": {
            _T.TIMEOUT: {607},
            _T.FAILED: {621},
            _T.TEARDOWN: {627},
            _T.REPORT: {1664},
            _T.REPORT_LATER: {1709},
            _T.TERMINATED: {1515},
            _T.DUMP: {1206, 1213},
        },
        "2.5.1": {
            _T.TIMEOUT: {616},
            _T.FAILED: {630},
            _T.TEARDOWN: {636},
            _T.REPORT: {1785},
            _T.REPORT_LATER: {1834},
            _T.TERMINATED: {1595},
            _T.DUMP: {1288, 1295},
        },
        "2.6.0": {
            _T.TIMEOUT: {629},
            _T.FAILED: {681},
            _T.TEARDOWN: {695},
            _T.REPORT: {2168},
            _T.STACK_FOUND: {664},
            _T.STACK_NOT_FOUND: {667},
            _T.TERMINATED: {1895},
            _T.DUMP: {1554, 1564},
            _T.SIGNAL: {1692, 1753},
        },
        "2.7.0": {
            _T.TIMEOUT: {632},
            _T.FAILED: {684},
            _T.TEARDOWN: {698},
            _T.REPORT: {2268},
            _T.STACK_FOUND: {667},
            _T.STACK_NOT_FOUND: {670},
            _T.DUMP: {1533},
            _T.SIGNAL: {1743},
        },
        "2.7.1": {
            _T.TIMEOUT: {632},
            _T.FAILED: {684},
            _T.TEARDOWN: {698},
            _T.REPORT: {2271},
            _T.STACK_FOUND: {667},
            _T.STACK_NOT_FOUND: {670},
            _T.DUMP: {1536, 1546},
            _T.SIGNAL: {1746},
            _T.FIRST: {2106},
        },
        "2.8.0": {
            _T.TIMEOUT: {685},
            _T.FAILED: {746},
            _T.TEARDOWN: {760},
            _T.REPORT: {2252},
            _T.STACK_FOUND: {729},
            _T.STACK_NOT_FOUND: {732},
            _T.DUMP: {1589, 1602, 1605},
            _T.SIGNAL: {1870},
            _T.FIRST: {2584},
        },
        "2.9.1": {
            _T.TIMEOUT: {683},
            _T.FAILED: {744},
            _T.TEARDOWN: {758},
            _T.REPORT: {2241},
            _T.STACK_FOUND: {727},
            _T.STACK_NOT_FOUND: {730},
            _T.DUMP: {1575, 1588, 1591},
            _T.SIGNAL: {1858},
            _T.FIRST: {2573},
        },
        "2.10.0": {
            _T.TIMEOUT: {688},
            _T.FAILED: {749},
            _T.TEARDOWN: {763},
            _T.REPORT: {2277},
            _T.STACK_FOUND: {732},
            _T.STACK_NOT_FOUND: {735},
            _T.DUMP: {1606, 1619, 1622},
            _T.FIRST: {2610},
        },
        "2.11.0": {
            _T.TIMEOUT: {689},
            _T.FAILED: {750},
            _T.TEARDOWN: {764},
            _T.REPORT: {2303},
            _T.STACK_FOUND: {733},
            _T.STACK_NOT_FOUND: {736},
            _T.DUMP: {1628},
            _T.FIRST: {2636},
        },
        "2.12.0": {
            _T.TIMEOUT: {757},
            _T.FAILED: {818},
            _T.TEARDOWN: {832},
            _T.REPORT: {2395},
            _T.STACK_FOUND: {801},
            _T.STACK_NOT_FOUND: {804},
            _T.DUMP: {1700},
            _T.FIRST: {2732},
        },
        "2.13.0": {
            _T.TIMEOUT: {730},
            _T.FAILED: {791},
            _T.TEARDOWN: {805},
            _T.REPORT: {2372},
            _T.STACK_FOUND: {774},
            _T.STACK_NOT_FOUND: {777},
            _T.DUMP: {1677},
            _T.FIRST: {2714},
        },
    }.items()
}
"""Line numbers by version and message; a set where a message stands in several places."""
