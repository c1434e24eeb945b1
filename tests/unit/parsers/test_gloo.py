"""Gloo's errors, old and new."""

import pytest

from support.feeding import feed, line, only
from unhang.model.events import GlooFault, GlooProblem
from unhang.parsers.gloo import GlooParser

TCP = "/pytorch/third_party/gloo/gloo/transport/tcp"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            f"RuntimeError: [{TCP}/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv "
            "operation to complete",
            GlooProblem.RECV_TIMED_OUT,
        ),
        (
            f"RuntimeError: [{TCP}/unbound_buffer.cc:129] Timed out waiting 1800000ms for send "
            "operation to complete",
            GlooProblem.SEND_TIMED_OUT,
        ),
        (
            f"RuntimeError: [{TCP}/pair.cc:553] Connection closed by peer [10.0.0.7]:28397",
            GlooProblem.PEER_CLOSED,
        ),
        (
            f"[{TCP}/pair.cc:534] Read error [10.0.0.7]:28397: Connection reset by peer",
            GlooProblem.PEER_CLOSED,
        ),
        (
            f"[{TCP}/unbound_buffer.cc:84] Application timeout caused pair closure",
            GlooProblem.PEER_CLOSED,
        ),
        (
            f"RuntimeError: [{TCP}/device.cc:83] Unable to find address for: eth9",
            GlooProblem.RESOLVE_FAILED,
        ),
    ],
)
def test_problems(text: str, problem: GlooProblem) -> None:
    assert only(GlooFault, feed(GlooParser, line(text))).problem is problem


def test_limits_and_peers() -> None:
    text = f"[{TCP}/unbound_buffer.cc:78] Timed out waiting 30000ms for recv operation to complete"
    assert only(GlooFault, feed(GlooParser, line(text, rank=2))).timeout_ms == 30_000
    text = f"[{TCP}/pair.cc:553] Connection closed by peer [10.0.0.7]:28397. This is typically"
    assert only(GlooFault, feed(GlooParser, text)).remote == "10.0.0.7"


@pytest.mark.parametrize("tail", ["", ". Received data size doesn't match expected size. Is there"])
def test_sizes_that_do_not_match(tail: str) -> None:
    text = (
        f"  what():  [enforce fail at {TCP}/pair.cc:456] op.preamble.length <= op.nbytes. "
        f"2000 vs 500{tail}"
    )
    found = only(GlooFault, feed(GlooParser, text))
    assert (found.problem, found.detail) == (GlooProblem.SIZE_MISMATCH, "2000 vs 500")


def test_a_mesh_that_cannot_connect() -> None:
    text = (
        f"RuntimeError: Gloo connectFullMesh failed with [{TCP}/pair.cc:152] timed out connecting: "
        "SO_ERROR: Connection refused, remote=[10.0.0.9]:43001 (rank=8, size=16, local=[10.0.0.7])"
    )
    found = only(GlooFault, feed(GlooParser, text))
    assert found.problem is GlooProblem.CONNECT_FAILED
    assert (found.remote, found.local) == ("10.0.0.9", "10.0.0.7")
    assert (found.rank, found.size) == (8, 16)


def test_a_mesh_that_meets_at_loopback() -> None:
    text = (
        f"RuntimeError: Gloo connectFullMesh failed with [{TCP}/pair.cc:152] timed out connecting: "
        "SO_ERROR: Connection refused, remote=[127.0.0.1]:43001 (rank=8, size=16, "
        "local=[127.0.0.1])"
    )
    assert only(GlooFault, feed(GlooParser, text)).problem is GlooProblem.LOOPBACK
    text = f"RuntimeError: [{TCP}/pair.cc:799] connect [127.0.1.1]:12345: Connection refused"
    assert only(GlooFault, feed(GlooParser, text)).problem is GlooProblem.LOOPBACK


def test_a_path_of_gloo_alone_is_no_fault() -> None:
    assert feed(GlooParser, f"frame #3: gloo::wait at {TCP}/buffer.cc:12") == []
