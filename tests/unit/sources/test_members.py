"""Files of a bundle are read as what they are."""

import pytest

from unhang.parsers import PARSERS
from unhang.sources.members import _LIVE_JUDGE, _READERS, readers_of


def test_the_readers_that_are_named_exist() -> None:
    named = {name for readers in (*_READERS.values(), _LIVE_JUDGE) for name in readers}
    assert named <= {parser.NAME for parser in PARSERS}


@pytest.mark.parametrize(
    ("artifact", "readers"),
    [
        ("b.unhang.tar.zst!host=n/rank_3/environment.txt", {"membership", "settings_seen"}),
        ("captured/host=n.example/pid_7/environment.txt", {"membership", "settings_seen"}),
        ("b.unhang.tar.zst!host=n/gpu12.txt", {"gpu-names", "gpu-report", "gpu-table", "versions"}),
        ("b.unhang.tar.zst!host=n/rank_3/threads.txt", set()),
        ("b.unhang.tar.zst!manifest.json", set()),
        ("b.unhang.tar.zst!host=n/rank_3/stacks.txt", None),
        ("b.unhang.tar.zst!host=n/rank_3/stdout.log", None),
        ("b.unhang.tar.zst!host=n/output/n/environment.txt", None),
        ("run/standing.json", {"run-record"}),
        ("b.unhang.tar.zst!run/standing.json", {"run-record"}),
        ("standing.json", {"run-record"}),
        ("run/outstanding.json", None),
        ("logs/environment.txt", None),
        ("logs/manifest.json", None),
        ("rank_3/threads.txt", None),
    ],
)
def test_who_may_read(artifact: str, readers: set[str] | None) -> None:
    assert readers_of(artifact) == readers
