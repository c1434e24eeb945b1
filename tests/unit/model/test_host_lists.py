"""Lists of hosts as schedulers write them."""

from __future__ import annotations

import pytest

from unhang.model.host_lists import expand_hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[8-10]-ib,x", ["n8-ib", "n9-ib", "n10-ib", "x"]),
        ("n[001,003-004]", ["n001", "n003", "n004"]),
        ("gpu-[07-08,11],login1 login2", ["gpu-07", "gpu-08", "gpu-11", "login1", "login2"]),
        ("", []),
    ],
)
def test_lists_of_hosts(text: str, names: list[str]) -> None:
    assert list(expand_hosts(text)) == names


def test_a_claimed_million_of_nodes_stays_small() -> None:
    assert len(list(expand_hosts("n[0-999999999999],x[0-99999]"))) == 100_000
