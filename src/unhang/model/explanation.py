"""What there is to say on one word: a rule, a cause, a setting, an error line."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from unhang.model.causes import Cause
from unhang.model.provenance import Message
from unhang.model.rule import Fact, Status


class Topic(enum.Enum):
    """What kind of thing a word names."""

    RULE = "rule"
    CAUSE = "cause"
    SETTING = "setting"
    LINE = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part. Each message of `body` is a paragraph; they may hold several lines."""

    title: Message
    body: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A manual page. Field by field the JSON form `unhang.explanation/1`.

    Attributes:
        name: the thing's own name, such as `DSY001 calls-differ-at-one-sequence-number`.
        summary: one sentence.
    """

    topic: Topic
    name: str
    summary: Message
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCard:
    """One row of the list of rules; `summary` is the first line of its manual page."""

    code: str
    name: str
    cause: Cause | None
    status: Status
    since: str
    summary: str
    needs: frozenset[Fact]
