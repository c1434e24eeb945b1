"""One logical line: what a parser reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.provenance import NOBODY, TEXT_LIMIT, Origin, Provenance
from unhang.model.time import Instant
from unhang.sources.context import LineContext, begins_message


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A c10/glog or `torch.distributed` logging header: `[E1121 01:38:58.9 File.cpp:607]`."""

    severity: str
    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A logical line with all wrappers peeled off and wrapped text rejoined.

    One physical line may hold several logical ones (messages glued behind a progress bar, or
    to each other); they share `number`.

    Attributes:
        artifact: display path of the artifact.
        number: one-based number of the physical line it begins on.
        text: the payload: no colour, no prefixes, no header. Leading blanks are kept.
        raw: the physical line as it stood, decoded, without colour, for evidence.
        origin: who printed it.
        at: the most precise time its wrappers or its header tell.
        header: its header, if any.
        gap: lines were skipped between the line before and this one.
        context: whether it is a message, or something that somebody shows.
    """

    artifact: str
    number: int
    text: str
    raw: str
    origin: Origin = NOBODY
    at: Instant | None = None
    header: Header | None = None
    gap: bool = False
    context: LineContext = LineContext.MESSAGE

    def says(self, pattern: re.Pattern[str], *, within: bool = False) -> re.Match[str] | None:
        """The first match of `pattern` that begins a message of whoever printed the line.

        What stands in a string, behind a sample's key or in the middle of prose is somebody
        else's.

        Args:
            pattern: written from the first word of the message on.
            within: it is not: a few plain words of the message stand before what it matches.
        """
        return next(self.sayings(pattern, within=within), None)

    def sayings(self, pattern: re.Pattern[str], *, within: bool = False) -> Iterator[re.Match[str]]:
        """All of them, in order."""
        return (
            match
            for match in pattern.finditer(self.text)
            if begins_message(self.text, match.start(), within=within)
        )

    def provenance(self) -> Provenance:
        """Where this line stands, with its text as evidence."""
        return Provenance(
            artifact=self.artifact, line=self.number, text=self.raw.strip()[:TEXT_LIMIT]
        )
