"""Where a fact was read, and who printed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from unhang.model.ids import LocalRank, Rank

TEXT_LIMIT = 400
"""Characters of evidence that are kept: events, not bytes, bound the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The place that a fact was read from.

    Attributes:
        artifact: the path as the user knows it; a member of an archive is `outer.tar.gz!inner.log`.
        line: one-based line in the artifact, or None for records without lines.
        text: what stood there, without control characters, at most `TEXT_LIMIT` characters.
    """

    artifact: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who printed a line, as far as its prefixes and its file name tell. None is *unknown*.

    Attributes:
        rank: the global rank, only where something says so outright (`[rank3]:`, `RANK=3`).
        local_rank: the index on the host (`[default3]:`).
        task: the task number of `srun --label` (a rank when there is one task for each GPU,
            a node otherwise; `assemble` decides).
        host: host, pod or node.
        pid: process id.
        actor: class of a Ray actor.
        repeated: how many further lines the launcher dropped (`[repeated 7x across cluster]`).
        incarnation: which start of the job, counted from 0, where the file's place tells
            (torchrun's `attempt_1/`).
    """

    rank: Rank | None = None
    local_rank: LocalRank | None = None
    task: int | None = None
    host: str | None = None
    pid: int | None = None
    actor: str | None = None
    repeated: int = 0
    incarnation: int | None = None


NOBODY = Origin()
"""Nothing tells who printed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that could not be read or run, and cost only itself.

    Attributes:
        artifact: the artifact concerned, or "" where it is none.
        component: what gave up: a reader, a parser, a rule code.
        message: one sentence for a person.
    """

    artifact: str
    component: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A sentence that is not written yet; `say` makes one where the code yields it.

    Values may be str, int, float, a frozenset of ranks, or a sentence of plain values; a reporter
    prints them.

    Attributes:
        key: stable; translations are found by it, and the English where it is kept as data.
        values: what goes into the sentence, by name.
        english: the sentence itself, where the code states it; never read from a file.
    """

    key: str
    values: Mapping[str, object] = field(default_factory=dict)
    english: str | None = field(default=None, compare=False)

    def using(self, **values: object) -> Message:
        """Return the same sentence with these values."""
        return replace(self, values={**self.values, **values})


def say(key: str, english: str, /, **values: object) -> Message:
    """Return a sentence with the values that go into it.

    The key and the sentence are literals, so that a test can compare them with the translations.
    The sentence is a format string with the specifications of `reporters.catalogue.wording`.

    Args:
        key: the code of the rule and a short name, such as `LOC001.claim`; helpers that several
            rules share begin with a word of their own, such as `rival.stopped`.
        english: the sentence.
        values: by the names that the sentence uses.

    >>> say("LOC001.claim", "{ranks:ranks} never joined", ranks=3).values
    {'ranks': 3}
    """
    return Message(key=key, values=values, english=english)
