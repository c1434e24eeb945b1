"""From a list of hosts as schedulers write it to their names."""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re

_PART = re.compile(r"[^,\s\[]*(?:\[[^\]]*\][^,\s\[]*)+|[^,\s]+")
_BRACKET = re.compile(r"(?P<stem>[^\[]*)\[(?P<ranges>[^\]]*)\](?P<rest>.*)")
_MOST = 100_000
"""Hosts of one list: a range may claim any number."""


def expand_hosts(text: str) -> Iterator[str]:
    """Yield the names of a list such as Slurm's, in their order.

    >>> list(expand_hosts("login,node[001-003,010]-ib"))
    ['login', 'node001-ib', 'node002-ib', 'node003-ib', 'node010-ib']
    """
    left = _MOST
    for part in _PART.findall(text):
        for name in _expand(part, left):
            yield name
            left -= 1
            if not left:
                return


def _expand(part: str, most: int) -> Iterator[str]:
    match = _BRACKET.fullmatch(part)
    if match is None:
        yield part
        return
    for span in match["ranges"].split(","):
        first, _, last = span.partition("-")
        if first.isdigit() and (last or first).isdigit():
            low = int(first)
            for number in range(low, min(int(last or first), low + most) + 1):
                yield f"{match['stem']}{number:0{len(first)}d}{match['rest']}"


def short_host(host: str | None) -> str | None:
    """A host by its first label: tables print `gpu-7.cluster.local`, kernel logs `gpu-7`.

    >>> short_host("gpu-7.cluster.local"), short_host("10.0.0.7")
    ('gpu-7', '10.0.0.7')
    """
    if host is None:
        return None
    label = host.split(".")[0]
    return host if label.isdecimal() or not label else label
