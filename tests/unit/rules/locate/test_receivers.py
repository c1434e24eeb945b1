"""Ranks that gave up receiving, each from a peer that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

import unhang


def named(
    folder: Path, *edges: tuple[int, int], form: str = "recv from rank {peer} timed out"
) -> frozenset[int]:
    lines = [f"[rank{who}]: RuntimeError: {form.format(peer=peer)}" for who, peer in edges]
    (folder / "job.log").write_text("\n".join(lines) + "\n")
    return frozenset(unhang.diagnose(str(folder / "job.log")).culprits)


@pytest.mark.parametrize(
    "form",
    [
        "recv from rank {peer} timed out",
        "timed out waiting for activations from peer {peer}",
        "gave up waiting for data of rank {peer}",
        "Timed out waiting 1800000ms for recv operation to complete from rank {peer}",
        "deadline passed in recv(x, src={peer})",
    ],
)
def test_all_name_one(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, (0, 2), (1, 2), (3, 2), form=form) == {2}


def test_a_chain_ends_at_who_gave_up_on_nobody(tmp_path: Path) -> None:
    assert named(tmp_path, (3, 2), (2, 1), (1, 0)) == {0}


def test_a_circle_and_two_ends_name_nobody(tmp_path: Path) -> None:
    assert named(tmp_path, (0, 1), (1, 0)) == frozenset()
    assert named(tmp_path, (0, 2), (1, 3)) == frozenset()
    assert named(tmp_path, (0, 2)) == frozenset(), "one voice may be a chain that is cut"


def test_without_a_time_out_it_is_a_trace(tmp_path: Path) -> None:
    assert named(tmp_path, (0, 2), (1, 2), form="recv from rank {peer} done") == frozenset()
