"""From the source lines of ProcessGroupNCCL.cpp in headers to the version of torch.

Reads::

    [E1003 12:10:46.017060244 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective …
    Exception raised from checkTimeout at /pytorch/…/ProcessGroupNCCL.cpp:631 (most recent call …

Two messages at the lines of one release name it; one message names it "about"; a time-out at a
line of no release is a custom build (a container, a nightly). Trap: 2.7.0 and 2.7.1 share most
lines, and patch releases that are not in the table lie close to those that are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from unhang import lazy_re as re
from unhang.model.events import Event, VersionSeen
from unhang.model.provenance import Origin
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.torch_lines import RELEASES, SIGNS, TorchMessage
from unhang.sources.line import Line

_FILE = "ProcessGroupNCCL.cpp"
_RAISED = re.compile(
    r"Exception\s*raised\s*from\s*checkTimeout\s*at\s*[^:]{0,300}ProcessGroupNCCL\.cpp:(\d{1,5})"
)
_RAISED_BELOW = 2
"""The throwing statement stands so many lines below the one that logs."""


@dataclass(slots=True)
class _Heard:
    """The places that one speaker's messages came from."""

    line: Line
    numbers: dict[TorchMessage, set[int]] = field(default_factory=dict)


class TorchVersionParser(LineParser, name="torch_version", needles=(_FILE,)):
    """Parser of line numbers in c10 headers."""

    def __init__(self) -> None:
        self._heard: dict[Origin, _Heard] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Note where the message stands in the source; the answer comes at the end."""
        for message, number in _messages(line):
            heard = self._heard.setdefault(line.origin, _Heard(line))
            heard.numbers.setdefault(message, set()).add(number)
        return iter(())

    def finish(self) -> Iterator[Event]:
        """Say the version by all numbers; ranks of one artifact are taken to run one build."""
        if not self._heard:
            return
        numbers: dict[TorchMessage, set[int]] = {}
        for heard in self._heard.values():
            for message, found in heard.numbers.items():
                numbers.setdefault(message, set()).update(found)
        version = find_version(numbers)
        if version is not None:
            shown = "/".join(str(n) for found in numbers.values() for n in sorted(found))
            yield VersionSeen(
                **place(next(iter(self._heard.values())).line),
                component="torch",
                version=version,
                basis=f"{_FILE}:{shown}",
            )


def _messages(line: Line) -> Iterator[tuple[TorchMessage, int]]:
    """Messages of known place in this line, with their line numbers."""
    header = line.header
    if header is not None and header.file == _FILE:
        message = next((m for m, sign in SIGNS if sign.search(line.text)), None)
        if message is not None:
            yield message, header.line
    for match in _RAISED.finditer(line.text):
        yield TorchMessage.TIMEOUT, int(match[1]) - _RAISED_BELOW


def find_version(numbers: dict[TorchMessage, set[int]]) -> str | None:
    """Return the version that prints these messages at these lines.

    Returns:
        A release for two agreeing messages, `about X` for a single one, `custom build` for a
        time-out that no release prints there, None where nothing is known.

    >>> find_version({TorchMessage.TIMEOUT: {629}, TorchMessage.REPORT: {2168}})
    '2.6.0'
    >>> find_version({TorchMessage.TIMEOUT: {632}})
    'about 2.7'
    >>> find_version({TorchMessage.TIMEOUT: {655}})
    'custom build'
    """
    hits = {
        version: sum(
            1 for message, found in numbers.items() if found & lines.get(message, frozenset())
        )
        for version, lines in RELEASES.items()
    }
    most = max(hits.values())
    if most == 0:
        return "custom build" if TorchMessage.TIMEOUT in numbers else None
    best = [version for version, count in hits.items() if count == most]
    minors = {version.rpartition(".")[0] for version in best}
    if len(minors) > 1:
        return None
    if most == 1:
        return f"about {minors.pop()}"
    return best[0] if len(best) == 1 else minors.pop()
