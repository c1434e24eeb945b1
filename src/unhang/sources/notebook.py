"""From a Jupyter notebook to what its cells printed.

A notebook keeps the code beside what it printed and the traceback that ended it, all as strings
of JSON (nbformat 4, "Output types"). Code and prose are nobody's log and are left out; a command
that a cell gave to the shell (`!df -h`) stands before its answer as at a prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

SUFFIX = ".ipynb"
_MOST_BYTES = 256 << 20


def is_notebook(head: bytes, name: str) -> bool:
    """Whether a file is named like a notebook and begins like one."""
    return name.lower().endswith(SUFFIX) and head.lstrip()[:1] == b"{"


def outputs(stream: IO[bytes]) -> bytes:
    """All that the cells printed, in their order; nothing of a file that is no notebook."""
    try:
        found = json.loads(stream.read(_MOST_BYTES).decode("utf-8", "replace"))
    except ValueError:
        return b""
    cells = found.get("cells") if isinstance(found, dict) else None
    cells = cells if isinstance(cells, list) else []
    parts = [part for cell in cells if isinstance(cell, dict) for part in _printed(cell)]
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts).encode()


def _printed(cell: Mapping[str, Any]) -> Iterator[str]:
    listed = cell.get("outputs")
    told = (
        [output for output in listed if isinstance(output, dict)]
        if isinstance(listed, list)
        else []
    )
    if not told:
        return
    for line in _text(cell.get("source")).splitlines():
        if line.startswith("!"):
            yield f"$ {line[1:]}"
    for output in told:
        if output.get("output_type") == "error":
            lines = output.get("traceback")
            yield "\n".join(map(str, lines)) if isinstance(lines, list) else ""
        else:
            data = output.get("data")
            plain = data.get("text/plain") if isinstance(data, dict) else None
            yield _text(output.get("text") or plain)


def _text(value: object) -> str:
    """A text of nbformat: a string, or a list of its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")
