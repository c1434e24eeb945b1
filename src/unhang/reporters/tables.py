"""From rows to lines: columns of a terminal, or a table of Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unhang.reporters.printable import columns, padded


def table(rows: Sequence[tuple[str, ...]], *, markdown: bool = False) -> Iterator[str]:
    """Yield the lines of a table; the first row is its head.

    >>> list(table([("", "jobs"), ("gpu_oom", "3")]))
    ['           jobs', '  gpu_oom  3']
    """
    if markdown:
        for number, row in enumerate(rows):
            yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
            if not number:
                yield "|" + "---|" * len(row)
        return
    widths = [max(columns(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [padded(cell, width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(["", *cells]).rstrip()
