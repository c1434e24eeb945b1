"""The recorded result of `make advice` is of the data at hand, and shows nothing wrong."""

import re
from pathlib import Path

from advice.record import fingerprint

PAGE = (Path(__file__).parents[3] / "docs/advice.md").read_text(encoding="utf-8")


def test_the_result_is_of_the_data_at_hand() -> None:
    measured = re.search(r"measured on (\w+)", PAGE)
    assert measured is not None
    assert measured[1] == fingerprint(), "run `make advice`: the data of frameworks has changed"


def test_no_patch_is_refused_wrong_or_without_effect() -> None:
    rows = [line.split("|")[2:-1] for line in PAGE.splitlines() if line.startswith("| ")]
    numbers = [[int(cell) for cell in row[-4:]] for row in rows if row[-1].strip().isdigit()]
    assert len(numbers) > 15
    assert all(row == [0, 0, 0, 0] for row in numbers)


def test_most_patches_were_put_to_the_frameworks_themselves() -> None:
    newest = re.search(r"^Newest releases: (\d+) patches, (\d+) \(", PAGE, re.MULTILINE)
    assert newest is not None
    assert int(newest[2]) >= 0.6 * int(newest[1]) > 300
