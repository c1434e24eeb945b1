"""From artifacts to events: every parser over every artifact; one bad part costs only itself.

Little is read in this process, so that a small job is judged at once; much is read by one process
for each core.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from unhang.engine.budget import Budget, BudgetSpent
from unhang.engine.going_on import work_in
from unhang.engine.good_end import bears_out
from unhang.engine.habits import habits_kept
from unhang.engine.introduced import introduced
from unhang.engine.nature import Beginning, Nature, nature_of
from unhang.engine.reading import SPENT, WANTED, Read, read_artifact
from unhang.engine.rereading import around
from unhang.engine.shards import Engine, cores
from unhang.engine.words import Words, most_of_each, words_of
from unhang.model.events import Event, Finished
from unhang.model.events.lifecycle import STATES_OF_WORK, state_of_work
from unhang.model.incident import Introduced
from unhang.model.provenance import Problem
from unhang.parsers.recorder import DumpReader
from unhang.sources.artifact import Artifact
from unhang.sources.buffer import Length
from unhang.sources.plan import plan
from unhang.sources.scan import MUCH

__all__ = ["WANTED", "Gathered", "Progress", "gather", "read_artifact"]

Progress = Callable[[int, int], None]
"""Is told the bytes that have been read and the bytes that there are, as far as is known."""

PARALLEL_FROM = 64 << 20
"""Bytes from which starting processes pays."""
PARALLEL_FILES = 2_000
"""Files from which it does, however small they are."""


@dataclass
class Gathered:
    """What was read, in the order in which it was found."""

    events: list[Event] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    size_bytes: int = 0
    natures: dict[str, Nature | None] = field(default_factory=dict)
    """How artifacts look, by name, as far as somebody looked."""
    lengths: dict[str, Length] = field(default_factory=dict)
    """How long artifacts are, by name, that were read to their end."""
    words: dict[str, Words] = field(default_factory=dict)
    """Of artifacts, by name, as far as somebody asked."""
    counted: Sequence[Event] = ()
    """Work after the trouble that lines count in any words, where somebody looked for it."""
    introduced: Introduced | None = None
    """Whether somebody introduces all trouble, where somebody looked for it."""

    def look(self, name: str) -> Nature | None:
        """How an artifact looks; None where it cannot be read again."""
        if name not in self.natures:
            found = self._by_name.get(name)
            self.natures[name] = None if found is None else nature_of(found)
        return self.natures[name]

    def work_in(self, name: str, after: int) -> Sequence[Event]:
        """The work that lines of an artifact after one show in any words, if it can be read."""
        found = self._log(name)
        if found is None:
            return ()
        try:
            part = around(found, after, self.lengths.get(name))
        except Exception:  # what could not be read was told of when it was read first
            return ()
        if part is None:
            return ()
        return (*work_in(found, after, part.after), *habits_kept(found, after, part))

    def work_at_the_end(self, name: str, lines: int) -> Sequence[Event]:
        """The work that the last lines of an artifact show in any words, if it can be read."""
        length = self.lengths.get(name)
        return () if length is None else self.work_in(name, max(0, length.newlines - lines))

    def bears_out(self, end: Finished, known: Collection[int], begins: int) -> bool:
        """Whether the text around the words of a good end says nothing else, if it can be read."""
        name, line = end.source.artifact, end.source.line
        found = self._log(name)
        if found is None or line is None:
            return True
        try:
            part = around(found, line, self.lengths.get(name))
        except Exception:  # what could not be read was told of when it was read first
            return True
        if len({state_of_work(s) for s in self.work_in(name, line)}) >= STATES_OF_WORK:
            return False
        return part is None or bears_out(part, line, known, begins, whole_job=end.whole_job)

    def introduced_in(self, name: str, first: int, last: int) -> Introduced | None:
        """Whether somebody introduces what an artifact tells between two lines."""
        found = self._log(name)
        return None if found is None else introduced(found, first, last)

    def words_in(self, names: Iterable[str]) -> Words:
        """The words of some artifacts, with the lines of all that hold them."""
        logs = [log for name in names if (log := self._log(name)) is not None]
        found: Words = {}
        for log, most in most_of_each(logs):
            if log.name not in self.words:
                self.words[log.name] = words_of(log, most)
            for word, told in self.words[log.name].items():
                before = found.get(word)
                found[word] = told if before is None else before.with_more(told.lines)
        return found

    def _log(self, name: str) -> Artifact | None:
        """An artifact whose lines can be read again."""
        found = self._by_name.get(name)
        return found if found is not None and found.again and found.dump is None else None

    @cached_property
    def _by_name(self) -> Mapping[str, Artifact]:
        """The first artifact of each name; asked when all are there."""
        return {artifact.name: artifact for artifact in reversed(self.artifacts)}


class _Meter:
    """Adds up what has been read."""

    def __init__(self, tell: Progress | None) -> None:
        self._tell = tell
        self.done = 0
        self.total = 0

    def add(self, count: int) -> None:
        self.done += count
        if self._tell is not None:
            self._tell(self.done, max(self.done, self.total))


def gather(
    items: Iterable[Artifact | Problem],
    progress: Progress | None = None,
    engine: Engine | None = None,
    budget: Budget | None = None,
) -> Gathered:
    """Read all artifacts.

    Args:
        items: artifacts, and the problems that were met while they were looked for.
        progress: is told now and then how far the reading is.
        engine: who reads; None = one process for each core. On this machine where that pays.
        budget: what may be used; what could not be read for the lack of it becomes one problem.
    """
    readers = engine or Engine(cores())
    if budget is not None:
        budget = budget.ready()
        if readers.ray is None:
            readers = replace(readers, processes=budget.workers(readers.processes))
    gathered = Gathered()
    meter = _Meter(progress)
    reads: list[Read | None] = []
    later: list[int] = []
    dumps: list[int] = []
    dump_reader = DumpReader()
    for item in items:
        if isinstance(item, Problem):
            gathered.problems.append(item)
            continue
        gathered.artifacts.append(item)
        if item.again:
            (later if item.dump is None else dumps).append(len(reads))
            reads.append(None)
            meter.total += item.size_bytes or 0
        elif item.dump is not None:  # a member of an archive, a pipe: now or never
            reads.append(_dump(item, dump_reader, budget))
            meter.add(item.size_bytes or 0)
        else:
            budget = _expect_much(budget)
            beginning = Beginning(item)
            reads.append(read_artifact(beginning.artifact, meter.add, budget=budget))
            gathered.natures[item.name] = beginning.nature()
    files = [gathered.artifacts[index] for index in later]
    if readers.ray is None and meter.total >= MUCH:
        budget = _expect_much(budget)
    every = _read_all(files, meter, readers, budget, gathered.lengths)
    for index, read in zip(later, every, strict=True):
        reads[index] = read
    files = [gathered.artifacts[index] for index in dumps]
    for index, read in zip(
        dumps, _read_dumps(files, dump_reader, meter, readers, budget), strict=True
    ):
        reads[index] = read
    for done in reads:
        assert done is not None
        gathered.events.extend(done[0])
        gathered.problems.extend(done[1])
    gathered.problems = _told_once(gathered.problems, meter)
    gathered.size_bytes = meter.done
    return gathered


def _expect_much(budget: Budget | None) -> Budget | None:
    """Make ready for large artifacts, or some whose size nobody knows: workers then share it."""
    grown = plan(WANTED, plain=False).expect_much()
    return budget.ready() if budget is not None and grown else budget


def _read_all(
    artifacts: Sequence[Artifact],
    meter: _Meter,
    engine: Engine,
    budget: Budget | None,
    lengths: dict[str, Length],
) -> Iterable[Read]:
    if _pays(artifacts, engine):
        from unhang.engine.pool import read_by_workers

        return read_by_workers(artifacts, engine, meter.add, budget, lengths)
    files = len(artifacts)
    return [read_artifact(artifact, meter.add, files, budget, lengths) for artifact in artifacts]


def _read_dumps(
    artifacts: Sequence[Artifact],
    reader: DumpReader,
    meter: _Meter,
    engine: Engine,
    budget: Budget | None,
) -> Iterable[Read]:
    if _pays(artifacts, engine):
        from unhang.engine.dump_pool import read_dumps_by_workers

        yield from read_dumps_by_workers(artifacts, engine, reader, meter.add)
        return
    for artifact in artifacts:
        yield _dump(artifact, reader, budget)
        meter.add(artifact.size_bytes or 0)


def _dump(artifact: Artifact, reader: DumpReader, budget: Budget | None) -> Read:
    try:
        if budget is not None:
            budget.check()
    except BudgetSpent as error:
        return [], [Problem(artifact=artifact.name, component=SPENT, message=str(error))]
    return reader.read(artifact)


def _told_once(problems: Sequence[Problem], meter: _Meter) -> list[Problem]:
    """The problems, with one for all artifacts that were not read for lack of means."""
    spent = [problem for problem in problems if problem.component == SPENT]
    if not spent:
        return list(problems)
    total = max(meter.total, meter.done, 1)
    files = f"{len(spent)} file{'' if len(spent) == 1 else 's'}"
    message = (
        f"{spent[0].message}, so {100 * meter.done // total} % of the bytes were read and {files}"
        " not to the end; the verdict covers what was read (--limit, --memory)"
    )
    told = Problem(artifact=spent[0].artifact, component=SPENT, message=message)
    return [told, *(problem for problem in problems if problem.component != SPENT)]


def _pays(artifacts: Sequence[Artifact], engine: Engine) -> bool:
    """Whether others should read."""
    if engine.ray is not None:
        return len(artifacts) > 0
    total = sum(artifact.size_bytes or 0 for artifact in artifacts)
    much = total >= PARALLEL_FROM or len(artifacts) >= PARALLEL_FILES
    return much and len(artifacts) > 1 and engine.processes > 1
