"""What is English in a Chinese text, besides names and quotations."""

from __future__ import annotations

import html
import re
from pathlib import Path

QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL
)
MARKUP = re.compile(r"<(script|style|pre|code)\b.*?</\1>|<[^>]*>", re.DOTALL)
PATCH = re.compile(r"^\s*(?:│|#).*$", re.MULTILINE)
FENCED = re.compile(r"^ *(`{3,})\w*\n.*?^ *\1$", re.MULTILINE | re.DOTALL)
ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’-]*(?:[,;:]? [A-Za-z][A-Za-z'’-]*){2,}")
COMMON = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "cannot", "could"),
        *("do", "does", "for", "from", "had", "has", "have", "if", "in", "into", "is", "it", "its"),
        *("may", "must", "no", "not", "of", "off", "on", "only", "or", "so", "than", "that", "the"),
        *("their", "them", "then", "there", "they", "this", "to", "under", "was", "were", "when"),
        *("where", "which", "while", "who", "why", "will", "with", "without", "would"),
    )
)
"""Words that make a sentence; names of things stay English in Chinese, these do not."""
ALLOWED = frozenset(("out of memory'",))
"""Parts of commands that stand there without a quotation."""


def unquoted(text: str) -> str:
    """A text without quotations, patches and code."""
    return QUOTED.sub(" ; ", PATCH.sub("", FENCED.sub("", text)))


def page_text(page: str) -> str:
    """What a page says itself, part by part: without code, quotations of logs and drawings."""
    return html.unescape(MARKUP.sub("\n", page))


def printed_by(folder: Path) -> str:
    """All that the files of a job hold, in one line."""
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else [folder]
    return " ".join(" ".join(path.read_text(errors="replace").split()) for path in files)


def unwrapped(text: str) -> str:
    """The lines of each paragraph of a page as one: a quotation may go over several."""
    return re.sub(r"(?<=\S)\n(?= *\S)", " ", text)


def english(text: str) -> list[str]:
    """Runs of three English words or more with one that no name has; quotations are none."""
    runs = ENGLISH.findall(" ".join(unquoted(text).split()))
    return [
        found
        for found in runs
        if found not in ALLOWED and COMMON & set(re.split(r"[,;:]? ", found.lower()))
    ]
