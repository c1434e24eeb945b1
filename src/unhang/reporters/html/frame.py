"""From sections to one self-contained page: no network, no inline handlers, light, dark, print.

Every page of unhang is made of this frame: it brings the style sheet, the script (theme, copying,
opening everything for print), and a policy that lets nothing else run or load.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from unhang.model.provenance import Message
from unhang.reporters.catalogue import write
from unhang.reporters.html.markup import Child, Html, join, tag

__all__ = ["Section", "page", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page under a heading.

    Attributes:
        name: its anchor.
        title: its heading.
        body: what stands below; a section without a body is left out.
        listed: whether the page's list of contents names it.
    """

    name: str
    title: str
    body: Child
    listed: bool = True


def words(key: str, language: str, **values: object) -> str:
    """Return a sentence of the page: `page.{key}` of the catalogue."""
    return write(Message(key=f"page.{key}", values=values), language)


def page(
    title: str,
    head: Child,
    sections: Iterable[Section],
    language: str,
    *,
    footer: Sequence[str] = (),
) -> str:
    """Return the whole document.

    Args:
        title: of the window; plain text.
        head: what stands on top, before all sections: the verdict, once.
        sections: in their order.
        language: of the page's own words.
        footer: small lines at the end.
    """
    shown = [(section, body) for section in sections if (body := join(section.body))]
    style, script = asset("page.css"), asset("heat.js") + asset("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    contents = tag(
        "nav",
        [tag("a", s.title, href=f"#{s.name}") for s, _ in shown if s.listed],
        aria_label=words("contents", language),
    )
    top = tag(
        "header",
        tag("a", words("skip", language), class_="skip", href="#main"),
        tag("span", "unhang", class_="name"),
        contents,
        tag(
            "button", "◐", type="button", id="theme", hidden=True,
            title=words("theme", language), aria_label=words("theme", language),
        ),
    )  # fmt: skip
    parts = [
        tag(
            "section",
            tag("h2", section.title, id=f"{section.name}-title"),
            content,
            id=section.name,
            aria_labelledby=f"{section.name}-title",
        )
        for section, content in shown
    ]
    document = tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", title),
            Html('<link rel="icon" href="data:,">'),
            Html(f"<style>{style}</style>"),
        ),
        tag(
            "body",
            top,
            tag("main", head, parts, id="main"),
            tag("footer", [tag("p", line) for line in footer]),
            tag("p", id="told", role="status", class_="read-aloud"),
            Html(f"<script>{script}</script>"),
        ),
        lang="zh-CN" if language == "zh" else language,
        data_copied=words("copied", language),
    )
    return f"<!doctype html>\n{document}"


@cache
def asset(name: str) -> str:
    """Return a style sheet or a script that pages are made of."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
