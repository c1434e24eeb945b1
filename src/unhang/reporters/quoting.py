"""From lines of evidence to what a page quotes: their places, and lines that are alike once."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from unhang import lazy_re as re
from unhang.model.diagnosis import Diagnosis
from unhang.model.provenance import Message, Provenance
from unhang.reporters.catalogue import write
from unhang.reporters.parts import PageLimits, Quote
from unhang.reporters.printable import one_line

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


class Quoting:
    """Quotes the lines of one diagnosis.

    Attributes:
        folder: what all places have in common and a page tells once; "" where there is none.
    """

    def __init__(self, diagnosis: Diagnosis, language: str, limits: PageLimits) -> None:
        self.folder = _folder_to_strip(diagnosis)
        self._language = language
        self._limits = limits

    def quotes(self, evidence: Sequence[Provenance]) -> tuple[Quote, ...]:
        """Classes of lines, not lines: what differs in numbers only is shown once."""
        classes: dict[str, list[Provenance]] = {}
        for source in dict.fromkeys(evidence):
            classes.setdefault(_NUMBER.sub("#", source.text), []).append(source)
        shown = list(classes.values())[: self._limits.evidence]
        return tuple(self._quote(first, len(like_it)) for first, *like_it in shown)

    def place(self, source: Provenance) -> str:
        """The file and the line, without the folder."""
        name = source.artifact
        if self.folder:
            name = name.removeprefix(self.folder).lstrip("/")
        return one_line(name if source.line is None else f"{name}:{source.line}")

    def _quote(self, source: Provenance, like_it: int) -> Quote:
        line, most = one_line(source.text), self._limits.quote
        alike = Message(key="evidence.more", values={"count": like_it})
        return Quote(
            place=self.place(source),
            text=line if len(line) <= most else line[: most - 1] + "…",
            more=one_line(write(alike, self._language)) if like_it else "",
        )


def _artifacts(diagnosis: Diagnosis) -> set[str]:
    told = {item.evidence.artifact for item in diagnosis.story}
    located = () if diagnosis.located is None else diagnosis.located.evidence
    quoted = [p for c in diagnosis.candidates for p in c.evidence]
    return told | {p.artifact for p in (*located, *quoted, *diagnosis.unread)}


def _folder_to_strip(diagnosis: Diagnosis) -> str:
    """The folder that need not be repeated; of several files a lone one keeps its whole path."""
    names = _artifacts(diagnosis)
    return "" if len(names) == 1 and diagnosis.stats.files > 1 else _common_folder(names)


def _common_folder(names: set[str]) -> str:
    """The longest folder that all names share; "" where there is none to speak of."""
    folders = [posixpath.dirname(name) for name in names]
    if not folders or not all(folders):
        return ""
    try:
        common = posixpath.commonpath(folders)
    except ValueError:  # absolute and relative names are mixed
        return ""
    return "" if common in {"", ".", "/"} else common + "/"
