"""From the rows of a run to docs/advice.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_HEAD = """\
# Is the advice true?

This page is written by `make advice`: every number is measured, none is edited by hand. Every
patch of every cause goes through the released framework's own parser, schema or classes where they
run on a machine without GPUs, else it is checked against the table of its knobs, which
`tools/knobs` reads from the released packages. Patches are written from the release's defaults, and
over configurations on both sides of them; where nothing would change for the better, none is
written.

*Own code*: accepted by the framework itself. *Table*: the key, its release and its default are read
from the package. *Refused* patches, those that go the *wrong way* or nowhere (*no-op*) and those
with a *placeholder* must be 0.

"""


def write_page(path: Path, rows: Sequence[Mapping[str, Any]], made_of: str) -> None:
    """Write the table, the sums, and each exception."""
    names = ("patches", "own", "rejected", "wrong", "no_op", "placeholder")
    lines = [
        "| framework | release | patches | own code | table | refused | wrong way | no-op"
        " | placeholder |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [_line(row["framework"], row["release"] or "-", row) for row in rows]
    lines.append(_line("**all**", "", _total(rows, names)))
    newest = list({row["framework"]: row for row in reversed(rows)}.values())
    older = [row for row in rows if row not in newest]
    general = sum(row["general"] for row in rows)
    summary = (
        f"Newest releases: {_share(newest)}. Older releases: {_share(older)}. {general} more are"
        " the same for every framework (variables, commands, PyTorch) and are run or parsed by"
        " the tests.\n"
    )
    tail = _list("Exceptions", "exceptions", rows) + _list("Not to be had", "missing", rows)
    mark = f"\n<!-- measured on {made_of} -->\n"
    path.write_text(_HEAD + summary + "\n" + "\n".join(lines) + "\n" + tail + mark, "utf-8")


def _total(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    return {name: sum(row[name] for row in rows) for name in names}


def _share(rows: Sequence[Mapping[str, Any]]) -> str:
    total = _total(rows, ("patches", "own"))
    percent = 100 * total["own"] // max(1, total["patches"])
    return f"{total['patches']} patches, {total['own']} ({percent} %) checked by their own code"


def _list(title: str, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    said = [f"- {row['framework']} {row['release']}: {line}" for row in rows for line in row[name]]
    return f"\n## {title}\n\n" + ("\n".join(said) if said else "None.") + "\n"


def _line(name: str, release: str, row: Mapping[str, Any]) -> str:
    cells = (
        name,
        release,
        row["patches"],
        row["own"],
        row["patches"] - row["own"],
        row["rejected"],
        row["wrong"],
        row["no_op"],
        row["placeholder"],
    )
    return "| " + " | ".join(map(str, cells)) + " |"
