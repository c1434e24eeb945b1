"""From a saved page of torch's debug server to what each rank answered.

Its pages (`/stacks`, `/pyspy_dump`, `/fr_trace_json` and the like) hold one block for each rank::

    <h2>Rank 3: http://gpu-07:4711/handler/dump_traceback?</h2>
        <p>Failed to fetch: status=408</p>                                     (where it failed)
        <pre>Thread 0x00007f1b2c (most recent call first):
      File &#34;train.py&#34;, line 26 in main</pre>

Each becomes a file of its own, in the form of the server's own text dumps.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import IO

from unhang import lazy_re as re

MARK = b" - PyTorch Distributed</title>"
"""Stands in the head of every page."""

_MOST_BYTES = 512 << 20
_BLOCK = re.compile(
    r"<h2>Rank (?P<rank>\d{1,6}): (?P<address>[^<\n]{0,400})</h2>\s*"
    r"(?:<p>Failed to fetch: status=(?P<status>\d{1,4})</p>\s*)?<pre>(?P<text>.*?)</pre>",
    re.DOTALL,
)


def is_debug_page(head: bytes) -> bool:
    """Whether a file begins like a page of the server."""
    return MARK in head


def answers(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each rank's answer."""
    page = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    for block in _BLOCK.finditer(page):
        text = html.unescape(block["text"])
        as_json = block["status"] is None and text.lstrip()[:1] in {"{", "["}
        if as_json:
            yield f"rank_{block['rank']}.json", text.encode()
            continue
        if block["status"] is not None:
            text = f"Error: {block['status']}"
        head = f"=== Rank {block['rank']}: {html.unescape(block['address'])} ===\n"
        yield f"rank_{block['rank']}.txt", f"{head}{text}\n".encode()
