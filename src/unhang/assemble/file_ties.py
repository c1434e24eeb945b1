"""What ties two files to one job: a host, an identifier, a place in a series, a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from unhang.assemble.given_files import OWN_FOLDERS, GivenFile, series_of
from unhang.model.events import Progress
from unhang.model.events.lifecycle import STATES_OF_WORK
from unhang.model.time import Clock, Instant

TURNED = re.compile(r"(?:\.\d{1,3}|[.-]\d{8}|\.old|\.prev(?:ious)?)(?:\.(?:gz|xz|bz2|zst))?$")
"""How the name of a log ends that was turned over."""
_NEAR_S = 18 * 3600.0
"""Logs of one job may be of different zones, and of a long night."""
_ONE_START_S = 300.0
_FAR_S = 3 * 86_400.0
_LONGEST_S = 90 * 86_400.0
"""No job takes longer; without a year, the shortest difference has a sign that means nothing."""
_SHORTEST_NAME = 3
_HOST_END = re.compile(r"-[a-z]+-\d+$")
_STREAMS = frozenset(("out", "err", "stdout", "stderr", "error", "errors", "output", "log", "txt"))
_LONG_NUMBER = 4


def is_tied(file: GivenFile, job: Sequence[GivenFile]) -> bool:
    """Whether a file shares something with one of a job's."""
    if file.of_a_run:
        return True  # somebody gave it for this job
    if OWN_FOLDERS.search(file.name) and any(OWN_FOLDERS.search(other.name) for other in job):
        return True
    return any(_tie(file, other) for other in job)


def _tie(file: GivenFile, other: GivenFile) -> bool:
    """Whether two files share a host, an identifier, a place in a series, or a process and time."""
    if is_far(file, other):
        return False
    if file.ids & other.ids or _share_host(file, other) or _are_alike(file.name, other.name):
        return True
    if _mentions(file, other) or _mentions(other, file):
        return True
    if file.places & other.places and _is_near(file, other, _ONE_START_S):
        return True  # one program, started at once: two nodes' logs
    if file.hosts and other.hosts:
        return False
    if file.pids & other.pids:
        return True
    return _is_near(file, other) and not (survived(file, other) or survived(other, file))


def _share_host(file: GivenFile, other: GivenFile) -> bool:
    """Whether they name one host, or names that end alike: `job-worker-1`, `pod-worker-1`."""
    if file.hosts & other.hosts:
        return True
    ends = [{m[0] for host in f.hosts if (m := _HOST_END.search(host))} for f in (file, other)]
    return bool(ends[0] & ends[1])


def _are_alike(name: str, other: str) -> bool:
    """`a.log` beside `b.log`, `n0/err` beside `n1/err`: one character or number apart."""
    if TURNED.sub("", name) == TURNED.sub("", other):
        return True
    if (
        series_of(name) == series_of(other)
        or _of_one_rank(name, other)
        or _are_streams(name, other)
    ):
        return True
    return len(name) == len(other) and sum(a != b for a, b in zip(name, other, strict=True)) == 1


def _are_streams(name: str, other: str) -> bool:
    """Whether they are the streams of one program, or bear one long number: `slurm-4711.err`."""
    folders, parts = zip(*(_parted(n) for n in (name, other)), strict=True)
    if folders[0] != folders[1]:
        return False
    if parts[0] - _STREAMS == parts[1] - _STREAMS and parts[0] & _STREAMS and parts[1] & _STREAMS:
        return True
    return any(len(part) >= _LONG_NUMBER and part.isdigit() for part in parts[0] & parts[1])


def _parted(name: str) -> tuple[str, frozenset[str]]:
    folder, _, last = name.rpartition("/")
    return folder, frozenset(part for part in re.split(r"[^a-z0-9]+", last.lower()) if part)


def _of_one_rank(name: str, other: str) -> bool:
    """Whether they lie in one folder whose name is a number: `attempt_0/3/stdout.log`."""
    folder, its = name.rpartition("/")[0], other.rpartition("/")[0]
    return folder == its and folder.rpartition("/")[2].isdigit()


def _mentions(file: GivenFile, other: GivenFile) -> bool:
    """Whether the lines of one name a host of the other."""
    names = [h for h in other.hosts if len(h) >= _SHORTEST_NAME and any(c.isdigit() for c in h)]
    if not names:
        return False
    listed = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)
    return any(listed.search(event.source.text) for event in file.events)


def _is_near(file: GivenFile, other: GivenFile, within_s: float = _NEAR_S) -> bool:
    """Whether dates of both lie within a night of each other, or within a shorter time."""
    gap_s = _gap_s(file.days, other.days)
    return gap_s is not None and gap_s <= within_s


def survived(file: GivenFile, other: GivenFile) -> bool:
    """Whether a job that ended well was at work before and after trouble that the other tells of.

    A file that shows a job at work or waiting itself is of another job, no trouble of this one.
    """
    if not file.is_whole or other.lives or not other.days:
        return False
    first, last = other.days[0], other.days[-1]
    before = after = 0
    for event in file.events:
        if isinstance(event, Progress) and event.at is not None:
            since_s, until_s = _apart(event.at, last), _apart(first, event.at)
            after += since_s is not None and since_s > 0
            before += until_s is not None and until_s > 0
    return min(before, after) >= STATES_OF_WORK


def is_far(file: GivenFile, other: GivenFile) -> bool:
    """Whether days lie between the dates of two files."""
    gap_s = _gap_s(file.days, other.days)
    return gap_s is not None and gap_s > _FAR_S


def _gap_s(days: Sequence[Instant], other: Sequence[Instant]) -> float | None:
    """Seconds between two spans; None where their clocks cannot be compared."""
    if not days or not other:
        return None
    gaps = [_apart(a, b) for a in (days[0], days[-1]) for b in (other[0], other[-1])]
    told = [gap for gap in gaps if gap is not None]
    if not told:
        return None
    if min(told) <= 0 <= max(told) and max(told) - min(told) < _LONGEST_S:
        return 0.0
    return min(abs(gap) for gap in told)


def _apart(one: Instant, other: Instant) -> float | None:
    """Seconds between two instants; which zone they are of matters little over days."""
    pair = (replace(i, clock=Clock.LOCAL) if i.clock is Clock.UTC else i for i in (one, other))
    return next(pair).since(next(pair))
