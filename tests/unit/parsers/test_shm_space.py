"""How full shared memory was when somebody looked."""

from __future__ import annotations

import pytest

from support.feeding import feed
from unhang.model.events import SharedMemorySeen
from unhang.parsers.shm_space import ShmSpaceParser


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["shm              64M   64M  8.0K 100% /dev/shm"], [(None, 1.0)]),
        (["tmpfs      62914560 1153434 61761126   2% /dev/shm"], [(None, 0.02)]),
        (["01:24 x6 shm   2.0/  8 GiB  free 1G", "01:25 x6 shm   6.0/  8 GiB"], [("x6", 0.75)]),
        (["01:24 x5 shm 3/12 GiB", "01:24 x6 shm 6/ 8 GiB"], [("x5", 0.25), ("x6", 0.75)]),
        (["/dev/sda1   20G  19G  1G  95% /dev/shm/backup"], []),
        (["NCCL WARN Error: failed to extend /dev/shm/nccl-q5 to 9637892 bytes"], []),
        (["docker run --shm-size=64g -v /dev/shm:/dev/shm"], []),
    ],
)
def test_the_fullest_look_at_each_host(
    texts: list[str], found: list[tuple[str | None, float]]
) -> None:
    events = feed(ShmSpaceParser, *texts)
    assert [(e.origin.host, e.share) for e in events if isinstance(e, SharedMemorySeen)] == found
