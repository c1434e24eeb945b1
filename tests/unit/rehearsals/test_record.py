"""What a rehearsal found is read as it was written."""

from pathlib import Path

import pytest
from rehearsals.record import FILE, AttemptEnd, Live, Rehearsal, read_rehearsal
from rehearsals.watching import Said

from unhang.errors import UsageError
from unhang.lab.scoring import Judged, Mark

FOUND = Rehearsal(
    name="trl-slow-save",
    versions={"trl": "1.16.0"},
    before=AttemptEnd(finished=False, seconds=18.0, exit_code=None),
    judged=(
        Judged(
            sources="logs",
            mark=Mark.UNDETERMINED,
            said="located",
            culprits="0",
            phase=None,
            confidence=0.8,
            fired=("SLO001",),
        ),
    ),
    shown={"logs": "ROOT CAUSE\n  …"},
    after=AttemptEnd(finished=True, seconds=41.0, exit_code=0),
    live=Live(
        said=Said(named_after_s=6.5, kind="waiting", accused=(1, 2)),
        ending=AttemptEnd(finished=False, seconds=9.0, exit_code=86),
    ),
    patient=None,
    left=("port 4711 9",),
    seconds=77.0,
)


def test_it_comes_back_whole(tmp_path: Path) -> None:
    FOUND.write(tmp_path)
    assert read_rehearsal(tmp_path) == FOUND


def test_a_new_folder_holds_none(tmp_path: Path) -> None:
    assert read_rehearsal(tmp_path) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "unhang.rehearsal/1"}'])
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError, match="rehearse in a new folder"):
        read_rehearsal(tmp_path)
