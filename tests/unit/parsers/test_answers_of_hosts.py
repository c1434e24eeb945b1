"""What hosts answer: who differs, whose an address is, what a link carries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.feeding import feed, line
from unhang.model.events import HostAddress, HostsDiffer, LinkMeasured
from unhang.model.provenance import Origin
from unhang.parsers.host_addresses import HostAddressesParser
from unhang.parsers.host_answers import HostAnswersParser
from unhang.parsers.link_pairs import LinkPairsParser
from unhang.sources.line import Line

_ASKED = "$ pdsh -w a[1-4] getent"


def _of(host: str | None, text: str) -> Line:
    return replace(line(text), origin=Origin(host=host))


@pytest.mark.parametrize(
    ("answers", "odd"),
    [
        ({"a1": "1", "a2": "1", "a3": "0", "a4": "1"}, "a3"),
        ({"a1": "mtu 9000", "a2": "mtu 1500", "a3": "mtu 9000"}, "a2"),
        ({"a1": "State: Active", "a2": "State: Active", "a3": "State: Down"}, "a3"),
        ({"a1": "up 12 days", "a2": "up 3 days", "a3": "up 7 days"}, None),
        ({"a1": "1", "a2": "0"}, None),
        ({"a1": "1", "a2": "1", "a3": "0", "a4": "0"}, None),
        ({"a1": "1", "a2": "1", "a3": "no such file"}, None),
    ],
)
def test_one_host_says_something_else(answers: dict[str, str], odd: str | None) -> None:
    found = list(feed(HostAnswersParser, _ASKED, *(_of(h, text) for h, text in answers.items())))
    assert [e.hosts for e in found if isinstance(e, HostsDiffer)] == ([{odd}] if odd else [])


def test_what_nccl_says_of_each_host() -> None:
    texts = [
        f"gx{n}:7:8 [0] NCCL INFO NET/IB : GPU Direct RDMA {'Disabled' if n == 2 else 'Enabled'}"
        f" for HCA 0 'mlx5_0'"
        for n in range(4)
    ]
    (found,) = feed(HostAnswersParser, *texts)
    assert isinstance(found, HostsDiffer)
    assert found.hosts == {"gx2"}
    assert "Disabled" in found.says


@pytest.mark.parametrize(
    ("text", "address", "by_name"),
    [
        ("lxcbr0           UP             10.0.3.1/24 ", "10.0.3.1", False),
        ("    inet 10.50.1.3/24 brd 10.50.1.255 scope global eth0", "10.50.1.3", False),
        ("        inet 10.50.1.3  netmask 255.255.255.0", "10.50.1.3", False),
        ("        Base lid: 44", "lid 44", False),
        ("ipaddr:29.7.1.34", "29.7.1.34", False),
        ("127.0.1.1       STREAM c4", "127.0.1.1", True),
    ],
)
def test_whose_an_address_is(text: str, address: str, by_name: bool) -> None:
    (found,) = feed(HostAddressesParser, _ASKED, _of("c4", text))
    assert isinstance(found, HostAddress)
    assert (found.host, found.address, found.by_name) == ("c4", address, by_name)
    assert not list(feed(HostAddressesParser, _ASKED, _of(None, text)))


def test_loopback_is_everybodys_and_another_name_is_anothers() -> None:
    lines = [_of("c4", "    inet 127.0.0.1/8 scope host lo"), _of("c4", "10.0.0.7  STREAM c1")]
    assert not list(feed(HostAddressesParser, _ASKED, *lines))


def test_links_below_what_names_the_pair() -> None:
    texts = [
        "nx1 -> nx2",
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
        " 8388608    500              197.20             196.00             2.934426",
        "$ ./pair.sh nx2 nx3",
        "  1073741824  268435456  float  sum  -1  21954.0  48.9  31.70  0  22173.5  48.4  90.8  0",
        "--- nx4",
        "[  5]   0.00-5.00   sec   559 MBytes   800 Mbits/sec                  receiver",
    ]
    found = [e for e in feed(LinkPairsParser, *texts) if isinstance(e, LinkMeasured)]
    assert [(e.one, e.other, round(e.gbps, 1)) for e in found] == [
        ("nx1", "nx2", 24.5),
        ("nx2", "nx3", 31.7),
        (None, "nx4", 0.1),
    ]


def test_a_figure_that_nothing_names_a_pair_for() -> None:
    text = "[  5]   0.00-5.00   sec   559 MBytes   938 Mbits/sec                  receiver"
    assert not list(feed(LinkPairsParser, "rank0 -> rank1", text))
