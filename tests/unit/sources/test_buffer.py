"""Line ends are counted right, whichever way is faster."""

from __future__ import annotations

import random

import pytest

from unhang.sources.buffer import newlines


@pytest.mark.parametrize("longest", [1, 3, 59, 61, 500, 300_000])
def test_line_ends_of_a_piece(longest: int) -> None:
    draw = random.Random(longest)
    lines = (b"x" * draw.randrange(longest) + b"\n" for _ in range(max(3, 400_000 // longest)))
    data = bytearray(b"".join(lines))
    for begin, end in ((0, len(data)), (1, len(data) - 1), (len(data) // 2, len(data) // 2)):
        assert newlines(data, begin, end) == data.count(b"\n", begin, end)
