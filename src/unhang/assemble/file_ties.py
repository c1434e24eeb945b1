"""What ties two files to one job: a host, an identifier, a GPU, a place in a series, a time.

A job may leave many thousand files, so they are not compared by pairs: files that share a word are
sorted by time, and neighbours are joined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from unhang import lazy_re as re
from unhang.assemble.given_files import OWN_FOLDERS, GivenFile, series_of
from unhang.model.events import Progress, PythonException
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
_YEAR_S = 366 * 86_400.0
_NEW_YEAR = Instant(seconds=0.0, clock=Clock.LOCAL_NO_YEAR)
_EVER = float("inf")
_SHORTEST_NAME = 3
_HOST_END = re.compile(r"(?:^|-)([a-z]+-\d+)$")
_WORD = re.compile(r"\d+(?:\.\d+){3}(?![\w-])|[\w-]+")
"""What may be the name or the address of a host."""
_STREAMS = frozenset(("out", "err", "stdout", "stderr", "error", "errors", "output", "log", "txt"))
_MEMBER = re.compile(
    r"(?<![a-z0-9])(?:rank|node|worker|master|launcher|chief|leader|head|replica|host|pod|proc|task"
    r"|[nrpw])s?[-_.]?\d{1,5}(?![a-z0-9])"
)
"""What names a member of a job: its number says which, not of which job."""
_EARLIER = frozenset(("prev", "previous"))
"""What `kubectl logs --previous` is kept under: an earlier start of the same member."""
_LONG_NUMBER = 4
_LONG_LOOP = 100
_MOST_SERIES = 2_000
"""Among more names than these, some are one letter apart by chance."""
_MOST_WHOLE = 16
"""So many files of jobs that ended well are asked what trouble those jobs survived."""


def all_tied(job: Iterable[str], files: Sequence[GivenFile]) -> set[str]:
    """Return the names of a job's files, and of all that is tied to them, be it over others."""
    fates = dict.fromkeys(survived(files), "survived")
    fates |= {file.name: "whole" for file in files if file.is_whole}
    dated = [_dated(file, fates.get(file.name, "")) for file in files]
    groups = _Groups()
    for alike in _sharing(dated, [_words(file) for file in files]):
        _join(groups, alike, _FAR_S, undated=True)
    for alike in _sharing(dated, _mentioned(files)):
        _join(groups, alike, _FAR_S, undated=True)
    for alike in _one_letter_apart(dated):
        _join(groups, alike, _FAR_S, undated=True)
    for alike in _pods_of_one_set(files, dated):
        _join(groups, alike, _ONE_START_S)
    for alike in _sharing(dated, [file.places for file in files]):
        _join(groups, alike, _ONE_START_S)  # one program, started at once: two nodes' logs
    for alike in _of_one_stream(files, dated):
        _join(groups, alike, _FAR_S, undated=True)
    for alike in _sharing(dated, [file.pids for file in files]):
        _join(groups, alike, _FAR_S, undated=True, apart=_on_hosts)
    for alike in _sharing(dated, [file.devices for file in files]):
        _join(groups, alike, _FAR_S, undated=True, apart=_on_hosts)
    _join(groups, dated, _NEAR_S, apart=_by_chance)
    given = (file.name for file in files if file.of_a_run)  # somebody gave it for this job
    own = {groups.of(name) for name in (*job, *given)}
    return {file.name for file in files if groups.of(file.name) in own}


def _pods_of_one_set(files: Sequence[GivenFile], dated: Sequence[_Dated]) -> Iterator[list[_Dated]]:
    """Files of pods and of folders that are numbered alike: `job-worker-0.log`, `worker-1/err`.

    A bare number may be of any job's set, so there must be no second set that it could be of.
    """
    sets: dict[str, dict[str, list[_Dated]]] = defaultdict(lambda: defaultdict(list))
    for file, its in zip(files, dated, strict=True):
        for host in file.hosts:
            if (found := _HOST_END.search(host)) is not None:
                word, of = found[1].rpartition("-")[0], host[: found.start(1)]
                sets[word][of].append(its)
    for of_word in sets.values():
        if "" in of_word and len(of_word) == _TWO:
            yield [its for members in of_word.values() for its in members]


_TWO = 2


def _of_one_stream(files: Sequence[GivenFile], dated: Sequence[_Dated]) -> Iterator[list[_Dated]]:
    """The output of all ranks, with those of single ranks that say the very same as it does.

    `torchrun --tee` writes both, and only the one that all share may tell the time.
    """
    of_all: dict[object, set[int]] = defaultdict(set)
    of_one: dict[object, list[int]] = defaultdict(list)
    for index, file in enumerate(files):
        for event in file.events:
            if isinstance(event, PythonException) and event.frames:
                raised = (event.origin.rank, event.exception, event.message, event.frames)
                if len(file.ranks) == 1:
                    of_one[raised].append(index)
                elif event.origin.rank is not None:
                    of_all[raised].add(index)
    for told, several in of_one.items():
        if len(of_all[told]) == 1:  # else it may be of another start
            yield [dated[index] for index in (*of_all[told], *several)]


def survived(files: Sequence[GivenFile]) -> set[str]:
    """Return which files tell of trouble that a job survived of which other files tell."""
    whole = [file for file in files if file.is_whole]
    longest = sorted(whole, key=lambda file: len(file.events), reverse=True)[:_MOST_WHOLE]
    late = [file for file in files if file.days and not file.lives] if whole else []
    return {file.name for file in late if any(_survived(job, file) for job in longest)}


class _Groups:
    """Names that belong together: each leads to one of them."""

    def __init__(self) -> None:
        self._next: dict[str, str] = {}

    def of(self, name: str) -> str:
        while (above := self._next.get(name, name)) != name:
            self._next[name] = name = self._next.get(above, above)
        return name

    def join(self, name: str, other: str) -> None:
        self._next[self.of(name)] = self.of(other)


class _Kind(NamedTuple):
    """What decides, besides a word and the time, whether two files may be tied.

    Attributes:
        any_year: these times are of no known year.
        hosted: the file names its host.
        fate: it is of a job that ended well (`whole`), or tells of trouble that one `survived`.
    """

    any_year: bool
    hosted: bool
    fate: str


_Apart = Callable[[_Kind, _Kind], bool]


def _never(_kind: _Kind, _other: _Kind) -> bool:
    return False


def _on_hosts(kind: _Kind, other: _Kind) -> bool:
    return kind.hosted and other.hosted


def _by_chance(kind: _Kind, other: _Kind) -> bool:
    """Whether files that tell of the same time may be of two jobs all the same."""
    return _on_hosts(kind, other) or {kind.fate, other.fate} == {"whole", "survived"}


@dataclass(frozen=True, slots=True)
class _Dated:
    """A file, and from when until when it tells of something."""

    name: str
    kind: _Kind
    spans: tuple[tuple[Instant, Instant], ...]


def _dated(file: GivenFile, fate: str) -> _Dated:
    spans: list[tuple[Instant, Instant]] = []
    for any_year in (False, True):
        days = [day for day in file.days if (day.clock is Clock.LOCAL_NO_YEAR) is any_year]
        if days:
            first, last = (end(days, key=lambda day: day.seconds) for end in (min, max))
            long = last.seconds - first.seconds >= _LONGEST_S
            spans += [(first, first), (last, last)] if long else [(first, last)]
    kind = _Kind(any_year=False, hosted=bool(file.hosts), fate=fate)
    return _Dated(file.name, kind, tuple(spans))


def _sharing(files: Iterable[_Dated], words: Iterable[Iterable[object]]) -> Iterator[list[_Dated]]:
    """The files that share a word, for each word."""
    found: dict[object, list[_Dated]] = defaultdict(list)
    for file, own in zip(files, words, strict=True):
        for word in own:
            found[word].append(file)
    return (alike for alike in found.values() if len(alike) > 1)


def _join(
    groups: _Groups,
    files: Sequence[_Dated],
    within_s: float,
    *,
    undated: bool = False,
    apart: _Apart = _never,
) -> None:
    """Join files that lie within a time of each other.

    Args:
        groups: where they are joined.
        files: that share something.
        within_s: the longest time between two.
        undated: what tells no time lies near everything.
        apart: says which kinds are not joined, however near.
    """

    def of_one_year(kind: _Kind, other: _Kind) -> bool:
        return not (kind.any_year or other.any_year) or apart(kind, other)

    line: list[_Spell] = []
    year: list[_Spell] = []
    for file in files:
        any_year = file.kind._replace(any_year=True)
        if undated and not file.spans:
            line.append((-_EVER, _EVER, file.kind, file.name))
            year.append((-_EVER, _EVER, any_year, file.name))
        for first, last in file.spans:
            dated = first.clock is not Clock.LOCAL_NO_YEAR
            if dated:
                line.append((first.seconds, last.seconds, file.kind, file.name))
            kind, long = file.kind if dated else any_year, last.seconds - first.seconds
            day = _apart(first, _NEW_YEAR) or 0.0
            year += [(at, at + long, kind, file.name) for at in (day, day + _YEAR_S)]
    _sweep(groups, line, within_s, apart)
    if any(kind.any_year for _, _, kind, _ in year):
        _sweep(groups, year, within_s, of_one_year)


_Spell = tuple[float, float, _Kind, str]
"""From, until, of what, of which file."""


def _sweep(groups: _Groups, spells: Iterable[_Spell], within_s: float, apart: _Apart) -> None:
    """Join in the order of time: of each kind only those are kept that later ones may reach."""
    reached: dict[_Kind, list[tuple[float, str]]] = {}
    for begin, end, kind, name in sorted(spells):
        for other, open_ones in reached.items():
            if not apart(kind, other):
                near = [one for one in open_ones if one[0] + within_s >= begin]
                for _, its in near:
                    groups.join(name, its)
                open_ones[:] = [max(near)] if near else []  # now one group: its last end counts
        reached.setdefault(kind, []).append((end, name))


def _words(file: GivenFile) -> Iterator[tuple[object, ...]]:
    """What ties a file to each that has the same, if no days lie between."""
    if OWN_FOLDERS.search(file.name):
        yield ("own",)
    yield from (("id", one) for one in file.ids)
    yield from (("host", host) for host in file.hosts)
    # names that end alike: `worker-1`, `job-worker-1`, `pod-worker-1`
    yield from (("end", found[1]) for host in file.hosts if (found := _HOST_END.search(host)))
    if file.hosts:  # the same loop on several hosts: its name, and how long it is
        steps = (event for event in file.events if isinstance(event, Progress))
        yield from {("loop", s.label, s.total) for s in steps if (s.total or 0) >= _LONG_LOOP}
    yield "series", series_of(file.name)
    yield "turned", TURNED.sub("", file.name)
    folder, _, last = file.name.rpartition("/")
    kin = _MEMBER.sub("", last.lower())
    if kin != last.lower():  # `master-0.log` beside `worker-0.log`, `n2_rank1` beside `n3_rank2`
        yield "members", folder, frozenset(re.findall(r"[a-z0-9]+", kin)) - _STREAMS - _EARLIER
    if folder.rpartition("/")[2].isdigit():
        yield "folder", folder  # of one rank: `attempt_0/3/stdout.log`
    parts = frozenset(part for part in re.split(r"[^a-z0-9]+", last.lower()) if part)
    if parts & _STREAMS:
        yield "streams", folder, parts - _STREAMS - _EARLIER
    for part in parts:
        if len(part) >= _LONG_NUMBER and part.isdigit():
            yield "number", folder, part  # `slurm-4711.err`


def _mentioned(files: Sequence[GivenFile]) -> list[set[str]]:
    """The hosts of any file that each file is of or that its lines name."""
    hosts = {host for file in files for host in file.hosts if len(host) >= _SHORTEST_NAME}
    hosts = {host for host in hosts if any(char.isdigit() for char in host)}
    if not hosts:
        return [set() for _ in files]
    words = [_WORD.findall(" ".join(e.source.text for e in f.events).lower()) for f in files]
    ends = [[found[1] for word in told if (found := _HOST_END.search(word))] for told in words]
    return [
        hosts & {*file.hosts, *told, *end}
        for file, told, end in zip(files, words, ends, strict=True)
    ]


def _one_letter_apart(files: Iterable[_Dated]) -> Iterator[list[_Dated]]:
    """`a.log` beside `b.log`, `n0/err` beside `n1/err`."""
    series: dict[str, list[_Dated]] = defaultdict(list)
    for file in files:
        series[series_of(file.name)].append(file)
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in series if len(series) <= _MOST_SERIES else ():
        for place in range(len(name)):
            alike[name[:place], name[place + 1 :]].append(name)
    for names in alike.values():
        if len(names) > 1:
            yield [file for name in names for file in series[name]]


def _survived(file: GivenFile, other: GivenFile) -> bool:
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


def outermost(files: Iterable[GivenFile]) -> list[GivenFile]:
    """Return those that begin last and those that end first: nothing is farther from a day."""
    found: list[GivenFile] = []
    for any_year in (False, True):
        told = [f for f in files if f.days and (f.days[0].clock is Clock.LOCAL_NO_YEAR) is any_year]
        if told:
            found.append(max(told, key=lambda file: file.days[0].seconds))
            found.append(min(told, key=lambda file: file.days[-1].seconds))
    return found


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
