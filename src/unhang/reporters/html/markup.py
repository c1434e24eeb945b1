"""From text to HTML that holds it: whatever is no `Html` is escaped, in elements and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TypeAlias

from unhang import lazy_re as re

_KEPT_TOGETHER = re.compile(r"`([^`\n]{1,200})`|(?<![\w.-])\d+-\d+(?:,\d+(?:-\d+)?){0,3}(?![\w-])")
"""A name in backticks, or a few ranks."""
_VOID = frozenset({"br", "img", "input", "meta"})


class Html(str):
    """Markup that was made here; every other text is only text."""

    __slots__ = ()


Child: TypeAlias = "Html | str | Iterable[Child] | None"
"""What an element may hold; None and empty texts leave nothing behind."""


def join(*children: Child) -> Html:
    """Return children as markup, one after the other.

    >>> join("a < b", Html("<br>"), None, ["&"])
    'a &lt; b<br>&amp;'
    """
    return Html("".join(_one(child) for child in children))


def tag(name: str, /, *children: Child, **attributes: object) -> Html:
    """Return an element.

    Args:
        name: of the element, lower case.
        children: what it holds.
        attributes: by name; `class_` is `class`, `aria_label` is `aria-label`. None and False leave
            one out, True gives it without a value.

    >>> tag("p", "1 < 2", class_='a"b', hidden=True)
    '<p class="a&quot;b" hidden>1 &lt; 2</p>'
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{told}>")
    return Html(f"<{name}{told}>{join(*children)}</{name}>")


def prose(text: str) -> Html:
    """Return a sentence whose names in backticks are code, and whose ranks do not break.

    >>> prose("`a<b` of ranks 1-3")
    '<code>a&lt;b</code> of ranks <span class="nb">1-3</span>'
    """
    return join(_phrases(text))


def _phrases(text: str) -> Iterator[Child]:
    end = 0
    for found in _KEPT_TOGETHER.finditer(text):
        yield text[end : found.start()]
        name = found[1]
        yield tag("span", found[0], class_="nb") if name is None else tag("code", name)
        end = found.end()
    yield text[end:]


def table(head: Iterable[Child], rows: Iterable[Iterable[Child]], caption: str = "") -> Html:
    """Return a table that scrolls sideways by itself where the page is narrower."""
    whole = tag(
        "table",
        tag("caption", caption, class_="read-aloud") if caption else None,
        tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in head])),
        tag("tbody", [tag("tr", [tag("td", cell) for cell in row]) for row in rows]),
    )
    return tag(
        "div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption or None
    )


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def _one(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(child)
    return "".join(_one(item) for item in child)
