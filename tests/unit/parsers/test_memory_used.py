"""How full a program says that its host is."""

from __future__ import annotations

import pytest

from support.feeding import feed, only
from unhang.model.events import HostMemoryUsed
from unhang.parsers.memory_used import MemoryUsedParser


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("CPU Virtual Memory:  used = 590.04 GB, percent = 58.6%", 0.586),
        ("step 40: host RAM 240/250 GiB", 0.96),
        ("[monitor] system memory usage: 97.1 %", 0.971),
        ("node memory used 1.5 of 2 TB", 0.75),
    ],
)
def test_its_words(text: str, share: float) -> None:
    assert only(HostMemoryUsed, feed(MemoryUsedParser, text)).share == pytest.approx(share)


def test_the_last_look_counts() -> None:
    looks = [f"epoch 1 step {n} host memory {70 + n}% in use" for n in range(20)]
    assert only(HostMemoryUsed, feed(MemoryUsedParser, *looks)).share == pytest.approx(0.89)


@pytest.mark.parametrize(
    "text",
    [
        "GPU memory 97%",
        "host memory free: 97%",
        "system memory limit 97% of the node",
        "host mem swap 12 of 16 GB",
        "RAM disk mounted",
        "host memory 970%",
    ],
)
def test_other_words(text: str) -> None:
    assert feed(MemoryUsedParser, text) == []
