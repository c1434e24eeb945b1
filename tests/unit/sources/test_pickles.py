"""Small files that would keep the loader busy for ever are never given to it."""

from __future__ import annotations

import io
import pickle
from typing import NoReturn

import pytest

from unhang.errors import UnsafeArtifact
from unhang.sources import pickle_chains, pickles
from unhang.sources.pickles import Damaged, load_plain, salvage

DEPTH = 60


def chain(level: bytes, *, start: bytes = b")q\x00", depth: int = DEPTH) -> bytes:
    """A dictionary whose only key is a tuple of tuples."""
    return b"\x80\x02}" + start + level * depth + b"K\x01s."


CHAINS = {
    "kept and fetched twice": chain(b"0h\x00h\x00\x86q\x00"),
    "kept in places of four bytes": chain(b"0j\0\0\0\0j\0\0\0\0\x86r\0\0\0\0"),
    "three at a time": chain(b"0h\x00h\x00h\x00\x87q\x00"),
    "doubled on the stack": chain(b"2\x86"),
    "with a mark": chain(b"0(h\x00h\x00tq\x00"),
    "wide and flat": chain(b"0(" + b"h\x00" * 200 + b"tq\x00", depth=6),
    "of a later protocol": b"\x80\x04})\x94" + b"0h\x00h\x00\x86\x94" * DEPTH + b"K\x01s.",
}


@pytest.mark.parametrize("data", CHAINS.values(), ids=CHAINS)
def test_a_chain_is_never_given_to_the_loader(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: object) -> NoReturn:
        raise AssertionError("the loader would hash the key")

    monkeypatch.setattr(pickles, "_Refusing", forbidden)
    assert pickle_chains.may_chain(data)
    with pytest.raises((UnsafeArtifact, Damaged)):
        load_plain(lambda: io.BytesIO(data), len(data))
    assert salvage(data[:-1]) in (None, {})


def test_short_chains_are_well() -> None:
    data = chain(b"0h\x00h\x00\x86q\x00", depth=5)
    assert not pickle_chains.may_chain(data)
    assert isinstance(load_plain(lambda: io.BytesIO(data), len(data)), dict)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_recorders_write_is_read_whoever_pickled_it(protocol: int) -> None:
    group, shared = ("7", "expert"), ("0", "default_pg")
    entries = [
        {"process_group": (str(i % 3), "default"), "other": group, "same": shared, "t": i << 40}
        for i in range(300)
    ]
    tree = {"version": "2.10", "entries": entries, "pg_config": {"0": {"ranks": [1, 2]}}}
    data = pickle.dumps(tree, protocol=protocol)
    assert load_plain(lambda: io.BytesIO(data), len(data)) == tree


def test_real_dumps_need_not_be_read_slowly() -> None:
    """torch keeps no tuple; Python keeps those of two texts."""
    entry = {"process_group": ("0", "default_pg"), "collective_seq_id": 7}
    data = pickle.dumps([dict(entry, seq=i, time=i * 7919) for i in range(2000)], protocol=2)
    assert not pickle_chains.may_chain(data)


def test_a_damaged_key_costs_only_what_follows() -> None:
    data = b"\x80\x02](}X\x01\0\0\0aK\x01s})K\x01s}e."
    assert salvage(data) == [{"a": 1}, {}]
