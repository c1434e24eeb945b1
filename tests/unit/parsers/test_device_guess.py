"""The barrier that guesses its GPU."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import DeviceGuessed
from unhang.parsers.device_guess import DeviceGuessParser


@pytest.mark.parametrize(
    "text",
    [
        "[PG ID 0 PG GUID 0 Rank 1]  using GPU 0 to perform barrier as devices used by this "
        "process are currently unknown. This can potentially cause a hang",
        "[Rank 1]  using GPU 0 to perform barrier as devices used by this process are currently",
        "Rank 1 using best-guess GPU 0 to perform barrier as devices used by this process are",
        "[PG ID 0 PG GUID 0 Rank 1]  using GPU 0 as device used by this process is currently "
        "unknown. This can potentially cause a hang",
    ],
)
def test_the_guess(text: str) -> None:
    found = only(DeviceGuessed, feed(DeviceGuessParser, line(text)))
    assert (found.device, found.group_rank) == (0, 1)


def test_other_talk_of_gpus_is_no_guess() -> None:
    assert feed(DeviceGuessParser, "using GPU 0 for generation") == []
