"""What a beat tells of variables and versions, and how often."""

from __future__ import annotations

import pytest

from unhang.probe.surroundings import Surroundings


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Ring")


def test_they_are_told_to_who_comes_late_and_then_rarely() -> None:
    surroundings = Surroundings()
    told = [n for n in range(200) if surroundings.look() is not None]
    assert told[:32] == list(range(32))
    assert len(told) < 32 + 13
    assert any(n > 150 for n in told)


def test_what_a_program_sets_later_is_told_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    surroundings = Surroundings()
    for _ in range(36):
        surroundings.look()
    monkeypatch.setenv("NCCL_ALGO", "Tree")
    found = [told for _ in range(30) if (told := surroundings.look()) is not None]
    assert [told["NCCL_ALGO"] for told in found] == ["Tree", "Tree"]


def test_secrets_and_what_differs_in_every_run_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NCCL_COMM_ID", "ACCELERATE_API_KEY", "TORCH_FR_DUMP_TEMP_FILE", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "x")
    found = Surroundings().look()
    assert found is not None
    assert found["NCCL_ALGO"] == "Ring"
    assert not {"NCCL_COMM_ID", "ACCELERATE_API_KEY", "WANDB_API_KEY"} & set(found)
    assert "TORCH_FR_DUMP_TEMP_FILE" not in found


def test_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(300):
        monkeypatch.setenv(f"NCCL_X{number}", "y" * 5_000)
    found = Surroundings().look()
    assert found is not None
    assert len(found) < 90
    assert max(map(len, found.values())) < 200
