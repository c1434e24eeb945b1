"""From the files of a job to what each rank said, in whatever way the program numbers its ranks.

Everybody invents prefixes, and names of files::

    p03 step 40 …    [0,tfw-a] …    ctr[5] …    worker 2: …    <07> …    r3.stdout    host-2/out.txt
    ==> counters/w3.cnt <==          rank,phase,step   (a table with a column of ranks)

What they have in common is seen in all files together: a number at the head of lines, or in the
names of files, runs from 0 on without a gap, and those that it tells apart print lines of the same
forms, by turns. Numbers of steps and epochs run on; they do not come by turns.

Traps: a host has several ranks, so that a number of hosts is none of ranks where more are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from unhang import lazy_re as re
from unhang.engine.nature import day_of
from unhang.engine.rereading import lines_of, text_of
from unhang.model.ids import Rank
from unhang.model.time import Instant
from unhang.sources.artifact import Artifact
from unhang.sources.line import Line
from unhang.sources.peel import peel

_MOST_FILES, _LARGEST, _MOST_LINES, _LONGEST = 512, 8 << 20, 20_000, 400
_CODE = (".py", ".sh", ".yaml", ".yml", ".toml", ".cfg", ".conf")
_VOICE = re.compile(
    r"(?:[a-z][a-z.-]{1,30}\d[\w.-]{0,30} )?"
    r"(?P<lead>(?:\[[A-Z]{4,8}\]|[IWE] )?\s{0,8}[\"'\[(<{|]{0,2})"
    r"(?P<word>[A-Za-z][A-Za-z_.]{0,18})?(?P<gap>[ _=:#\[-]{0,2})(?P<number>\d{1,4})"
    r"(?P<end>,[\w.-]{1,60}\]|[\])>},:|/ ]{1,2})"
)
_NO_RANK = re.compile(
    r"(?:step|epoch|ep|e|it|iter|iteration|s|gen|day|layer|block|fold|line|loss|round|try|attempt"
    r"|update|upd|batch|stage\w*|level|version|v|t|n|crop|python|thread|channel|ring|gpus?_per\w*)"
    r"|.*(?:size|total|count|num)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"==> (?P<path>[^<>\n]{1,300}) <==\s*$")
_NUMBER = re.compile(r"\d+")
_WHOLE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_CELLS = re.compile(r"\s*[,;\t]\s*")
_FEWEST, _MOST = 2, 4_096


@dataclass(frozen=True, slots=True)
class Entry:
    """A line, with what is left of it when the mark of its speaker is taken off."""

    line: Line
    text: str

    @property
    def form(self) -> str:
        """The text without its numbers."""
        return _WHOLE.sub("#", self.text)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the text, in order."""
        return tuple(_WHOLE.findall(self.text))


@dataclass(slots=True)
class Ledger:
    """What each rank said, in its order, and what nobody signed.

    Attributes:
        said: by rank.
        unsigned: lines of no rank, in the order of the files.
        last: the latest time that any line tells, of each clock.
        partial: some ranks may not have been heard.
    """

    said: dict[Rank, list[Entry]] = field(default_factory=dict)
    unsigned: list[Line] = field(default_factory=list)
    last: list[Instant] = field(default_factory=list)
    partial: bool = False

    @property
    def files(self) -> dict[str, Rank]:
        """The rank of each file that one rank alone speaks in; none where one has no file."""
        speakers: dict[str, set[Rank]] = defaultdict(set)
        for rank, entries in self.said.items():
            for entry in entries:
                speakers[entry.line.artifact].add(rank)
        alone = {name: next(iter(ranks)) for name, ranks in speakers.items() if len(ranks) == 1}
        return alone if set(alone.values()) == set(self.said) else {}


_Stream = list[tuple[Line, str]]


def read(artifacts: Iterable[Artifact], world_size: int | None, highest: int) -> Ledger | None:
    """Read the files once more; None where nothing numbers the ranks.

    Args:
        artifacts: the files of the job that can be opened again.
        world_size: how many ranks there are, where known.
        highest: the highest rank that anything names; -1 = none.
    """
    streams: dict[str, _Stream] = {}
    for artifact in list(artifacts)[:_MOST_FILES]:
        small = artifact.size_bytes is not None and artifact.size_bytes <= _LARGEST
        if small and artifact.again and artifact.dump is None and not artifact.name.endswith(_CODE):
            for line, section in _lines(artifact):
                streams.setdefault(section, []).append((line, line.text.strip()))
    most = _MOST if world_size is None else world_size
    for number in (_by_known, _by_table, _by_head, _by_name):
        said = number(streams)
        if said is None or len(said) < _FEWEST or max(said) >= most:
            continue
        # A number in names may be that of hosts, each with several ranks.
        if number is not _by_name or (world_size in (None, len(said)) and highest < len(said)):
            return _ledger(streams, said)
    some = _marked(streams)
    return _ledger(streams, some, partial=True) if some else None


def _ledger(
    streams: Mapping[str, _Stream], said: Mapping[Rank, list[Entry]], *, partial: bool = False
) -> Ledger:
    signed = {(e.line.artifact, e.line.number) for entries in said.values() for e in entries}
    every = [line for stream in streams.values() for line, _ in stream]
    unsigned = [line for line in every if (line.artifact, line.number) not in signed]
    latest: dict[object, Instant] = {}
    for line in every:
        at = line.at
        if at is not None and (at.clock not in latest or at.seconds > latest[at.clock].seconds):
            latest[at.clock] = at
    return Ledger(dict(said), unsigned, list(latest.values()), partial)


def _lines(artifact: Artifact) -> Iterator[tuple[Line, str]]:
    """The messages of a file, each with the part of the file that it stands in."""
    section = artifact.name
    try:
        with artifact.open() as stream:
            for number, data in enumerate(lines_of(stream, _LONGEST), 1):
                text = text_of(data, _LONGEST)
                head = _SECTION.search(text)
                if head is not None:
                    section = f"{artifact.name}:{head['path']}"
                if number > _MOST_LINES:
                    return
                messages = list(peel(text, artifact.origin))
                if not messages and (day := day_of(text)) is not None:  # what `date` printed
                    told_at = Line(artifact=artifact.name, number=number, text="", raw=text, at=day)
                    yield told_at, section
                for told in messages:
                    yield (
                        Line(
                            artifact=artifact.name,
                            number=number,
                            text=told.text.replace('\\n"', '"').rstrip('",'),
                            raw=text,
                            origin=told.origin,
                            at=told.at,
                            header=told.header,
                        ),
                        section,
                    )
    except Exception:  # what could not be read was told of when it was read first
        return


def _by_known(streams: Mapping[str, _Stream]) -> dict[Rank, list[Entry]] | None:
    """By the marks that every log is read with; where they tell of all that speak."""
    return _alike(_marked(streams))


def _marked(streams: Mapping[str, _Stream]) -> dict[Rank, list[Entry]]:
    """What the marks that every log is read with tell of each rank."""
    found: dict[Rank, list[Entry]] = defaultdict(list)
    for stream in streams.values():
        for line, text in stream:
            origin = line.origin
            axes = (origin.rank, origin.task, None if origin.host else origin.local_rank)
            number = next((int(axis) for axis in axes if axis is not None), None)
            if number is not None and text:
                found[Rank(number)].append(Entry(line, text))
    return dict(found)


def _by_table(streams: Mapping[str, _Stream]) -> dict[Rank, list[Entry]] | None:
    """By the column of ranks of a table."""
    found: dict[Rank, list[Entry]] = defaultdict(list)
    for stream in streams.values():
        names: list[str] = []
        for line, text in stream:
            cells = _CELLS.split(text)
            if "rank" in [cell.lower() for cell in cells]:
                names = [cell.lower() for cell in cells]
            elif names and len(cells) == len(names):
                row = dict(zip(names, cells, strict=True))
                if row["rank"].isdigit() and len(row["rank"]) < _LONGEST_NUMBER:
                    rest = " ".join(f"{k} {v}" for k, v in row.items() if k not in _OF_A_ROW)
                    found[Rank(int(row["rank"]))].append(Entry(line, rest))
    return found if _counts(found) else None


_OF_A_ROW = frozenset({"rank", "host", "node", "pid", "time", "unix", "timestamp", "date"})
_LONGEST_NUMBER = 7


def _by_head(streams: Mapping[str, _Stream]) -> dict[Rank, list[Entry]] | None:
    """By a number at the head of lines that those which it tells apart print by turns."""
    heads: dict[tuple[str, str], dict[Rank, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    turns: dict[tuple[str, str], int] = defaultdict(int)
    for stream in streams.values():
        before: dict[tuple[str, str], int] = {}
        for line, text in stream:
            head = _VOICE.match(text)
            if head is None or _NO_RANK.fullmatch(head["word"] or "") is not None:
                continue
            if not head["word"] and not head["lead"].strip() and head["end"].strip() != "|":
                continue  # a bare number counts something
            kind = (head["lead"].strip() + (head["word"] or "").lower(), head["end"].strip()[:1])
            number = int(head["number"])
            heads[kind][Rank(number)].append(Entry(line, text[head.end() :].strip()))
            turns[kind] += kind not in before or number < before[kind]
            before[kind] = number
    best: dict[Rank, list[Entry]] | None = None
    for kind, said in heads.items():
        if turns[kind] < _FEWEST or _alike(said) is None:
            continue
        if best is None or sum(map(len, said.values())) > sum(map(len, best.values())):
            best = said
    return None if best is None else _whole_files(streams, best)


def _whole_files(
    streams: Mapping[str, _Stream], said: Mapping[Rank, list[Entry]]
) -> dict[Rank, list[Entry]]:
    """The same, with the other lines of files that only one of them speaks in."""
    speakers: dict[str, set[Rank]] = defaultdict(set)
    texts: dict[tuple[str, int], str] = {}
    for rank, entries in said.items():
        for entry in entries:
            speakers[entry.line.artifact].add(rank)
            texts[entry.line.artifact, entry.line.number] = entry.text
    found: dict[Rank, list[Entry]] = {rank: list(entries) for rank, entries in said.items()}
    alone = {name: next(iter(ranks)) for name, ranks in speakers.items() if len(ranks) == 1}
    if len(set(alone.values())) != len(said) or len(alone) < len(speakers):
        return found
    for name, rank in alone.items():
        whole = [
            (line, text) for s in streams.values() for line, text in s if line.artifact == name
        ]
        found[rank] = [Entry(ln, texts.get((ln.artifact, ln.number), text)) for ln, text in whole]
    return found


def _by_name(streams: Mapping[str, _Stream]) -> dict[Rank, list[Entry]] | None:
    """By a number in the names of files that are alike but for it."""
    series: dict[tuple[str, str], dict[Rank, list[Entry]]] = defaultdict(dict)
    for name, stream in streams.items():
        for number in _NUMBER.finditer(name):
            if len(number[0]) < _LONGEST_NUMBER:
                entries = [Entry(line, text) for line, text in stream if text]
                series[name[: number.start()], name[number.end() :]][Rank(int(number[0]))] = entries
    counted = (said for said in series.values() if _alike(said) is not None)
    return max(counted, key=len, default=None)


def _counts(said: Mapping[Rank, Sequence[Entry]]) -> bool:
    """Whether the numbers run from 0 on."""
    return _FEWEST <= len(said) <= _MOST and max(said) + 1 == len(said)


def _alike(said: Mapping[Rank, Sequence[Entry]]) -> dict[Rank, list[Entry]] | None:
    """The same where the numbers run from 0 on and each prints lines of forms that others print."""
    if not _counts(said):
        return None
    printed: dict[str, set[Rank]] = defaultdict(set)
    for rank, entries in said.items():
        for entry in entries:
            printed[entry.form].add(rank)
    shared = {rank for ranks in printed.values() if len(ranks) > 1 for rank in ranks}
    return {rank: list(e) for rank, e in said.items()} if 2 * len(shared) > len(said) else None


def signed(entry: Entry, rank: Rank) -> Line:
    """The line as one of a rank."""
    return replace(entry.line, text=entry.text, origin=replace(entry.line.origin, rank=rank))
