"""From the beginning of an artifact to the prefix that a collector put before its lines.

Whoever gathers the output of many processes puts a name before each line, in a shape of its own::

    spark-b: [rank1]:[E417 21:12:04 …] …         pdsh, docker compose (`trainer-a  | …`)
    job-worker-0 pytorch 2026-04-29T06:11:12Z …  stern: the pod, then the container

No list has all of these names. What tells a prefix from a message is that nearly every line has
one, that its names come again, and that what stands behind it has heads of its own. A key of a
training sample (`prompt:`) has the first two of these; so the names of samples and levels, and
whatever a sentence may begin with, are no prefixes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unhang import lazy_re as re
from unhang.model.provenance import Origin
from unhang.sources.showing import SAMPLE

_NAME = r"[A-Za-z][\w.@/-]{1,80}"
_POD = r"[A-Za-z][\w.@/]{0,60}-[\w.@/-]{1,80}"
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"(?P<name>{_NAME}) {{1,40}}\| ?",
        rf"(?P<name>{_NAME}): (?= {{0,40}}\S)",
        rf"(?P<name>{_POD}) (?P<part>[a-z][\w.-]{{1,60}}) (?=\S)",
        rf"(?P<name>{_POD}) (?=\S)",
    )
)
"""A bar, a colon, and two names or one before a blank, as long as they look like those of pods."""
_HEADED = re.compile(
    r"\[?[EWIF]\d{3,4} \d\d:\d\d:\d\d|\[[EWIF] [\w./-]{1,120}:\d{1,6}\] |\[rank\d{1,6}\]"
    r"|[\w.-]+:\d{1,9}:\d{1,9} \[\d{1,3}\] |\[\d\d:\d\d:\d\d[.\d]{0,10}\] "
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T _,]\d\d:\d\d|\(\w[\w ]{0,60} pid=\d|Traceback \(most recent"
    r"|  File \"[^\"]+\", line \d|\[?(?:INFO|WARNING|ERROR)\]?[ :|]"
)
"""What loggers and runtimes put before a message: behind a prefix, some lines must have it."""
_NO_NAMES = re.compile(
    rf"(?:{SAMPLE}|(?i:gpt|bot|title|body|role|log|note|warning|error|info|debug|critical|fatal"
    r"|trace|notice|warn|exception|traceback|loss|step|epoch|iter|iteration|file|line|name|wandb"
    r"|raise|return))"
    r"(?:[._/-]?\d{1,9})?"
    r"|(?:[\w.]*\.)?\w*(?:Error|Exception|Warning)"
)
_READ = 400
"""Lines that are looked at; a prefix is there from the beginning."""
_FEW, _HEADS = 6, 2
_MOST_NAMES = 64
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Column:
    """A prefix: its shape, and the names that come in it."""

    shape: re.Pattern[str]
    names: frozenset[str]

    def split(self, text: str) -> tuple[str, str, str] | None:
        """The name in the prefix of a line, the whole prefix, and what stands behind it."""
        match = self.shape.match(text)
        if match is None or match["name"] not in self.names:
            return None
        return match["name"], match[0], text[match.end() :]

    def speaker(self, name: str, origin: Origin) -> Origin:
        """Who speaks behind it: a host or a pod has a number or several parts, a role has not."""
        parts = re.search(r"[\d._-]", name) is not None
        return replace(origin, host=name) if parts else replace(origin, actor=name)


def find_column(lines: Sequence[str]) -> Column | None:
    """Return the prefix of an artifact that begins with these lines, if it has one.

    >>> lines = [f"spark-{h}: [E417 21:12:0{n} a.cpp:1] x" for h in "ab" for n in "123"]
    >>> sorted(find_column(lines).names)
    ['spark-a', 'spark-b']
    >>> find_column([f"prompt: [E417 21:12:0{n} a.cpp:1] x" for n in range(9)]) is None
    True
    """
    full = [line for line in lines if line.strip()][:_READ]
    if len(full) < _FEW:
        return None
    return next((c for shape in _SHAPES if (c := _of_shape(shape, full)) is not None), None)


def _of_shape(shape: re.Pattern[str], lines: Sequence[str]) -> Column | None:
    names: Counter[str] = Counter()
    heads = 0
    for line in lines:
        match = shape.match(line)
        if match is None or _NO_NAMES.fullmatch(match["name"]) is not None:
            continue
        names[match["name"]] += 1
        heads += _HEADED.match(line, match.end()) is not None
    again = frozenset(name for name, times in names.items() if times > 1)
    covered = sum(names[name] for name in again)
    usual = heads >= _HEADS and len(again) <= _MOST_NAMES and covered >= _SHARE * len(lines)
    return Column(shape, again) if usual else None
