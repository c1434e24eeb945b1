"""CFG201, LOC110: dumps that carry code, and dumps without a byte."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

import unhang
from support.small_dumps import dumps
from unhang.model.diagnosis import Outcome
from unhang.model.finding import Strength
from unhang.reporters import markdown, terminal
from unhang.reporters.json import as_dict


class Attack:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


def stalled(folder: Path) -> Path:
    """Rank 2 of four has not issued what the others wait in."""
    return dumps(folder, r2=6)


def plant(folder: Path, name: str, protocol: int = 2) -> Path:
    """An attack in place of a dump; the file that it would make."""
    marker = folder.parent / "ran"
    (folder / name).write_bytes(pickle.dumps(Attack(marker), protocol=protocol))
    return marker


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_dump_with_code_is_a_warning_beside_the_verdict(tmp_path: Path, protocol: int) -> None:
    folder = stalled(tmp_path / "dumps")
    marker = plant(folder, "nccl_trace_rank_0", protocol)
    diagnosis = unhang.diagnose(str(folder))
    assert not marker.exists()
    assert diagnosis.culprits == {2}
    (warning,) = diagnosis.warnings
    assert warning.rule == "CFG201"
    for page in (terminal.render(diagnosis), markdown.render(diagnosis).replace("\\", "")):
        above_all_else = "".join(page.split("Why")[0].split())
        assert "nccl_trace_rank_0" in above_all_else
        assert "posix.system" in above_all_else
        assert "nothinginitwasrun" in above_all_else
    assert '"posix.system"' in json.dumps(as_dict(diagnosis)["warnings"])


def test_a_cut_dump_with_code_is_refused_as_well(tmp_path: Path) -> None:
    folder = stalled(tmp_path / "dumps")
    data = pickle.dumps([{"profiling_name": "x"}] * 9 + [Attack(tmp_path / "ran")], protocol=4)
    (folder / "nccl_trace_rank_0").write_bytes(data[:-9])
    diagnosis = unhang.diagnose(str(folder))
    assert not (tmp_path / "ran").exists()
    assert [w.evidence[0].text for w in diagnosis.warnings] == ["posix.system"]


def test_code_is_no_cause(tmp_path: Path) -> None:
    plant(tmp_path, "nccl_trace_rank_0")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert (diagnosis.outcome, diagnosis.cause) == (Outcome.UNDETERMINED, None)
    assert diagnosis.culprits == frozenset()
    assert len(diagnosis.warnings) == 1


def test_a_rank_whose_file_was_refused_is_not_silent(tmp_path: Path) -> None:
    dumps(tmp_path)
    (tmp_path / "nccl_trace_rank_0").unlink()
    assert unhang.diagnose(str(tmp_path)).culprits == {0}
    plant(tmp_path, "nccl_trace_rank_0")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.culprits == frozenset()
    assert diagnosis.outcome is Outcome.UNDETERMINED
    assert len(diagnosis.warnings) == 1


def test_a_job_that_ended_well_is_healthy_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("[rank0]: Training completed. Do not forget to share it\n")
    healthy = unhang.diagnose(str(tmp_path))
    plant(tmp_path, "nccl_trace_rank_0")
    warned = unhang.diagnose(str(tmp_path))
    assert warned.outcome is healthy.outcome
    assert len(warned.warnings) == 1


def test_many_files_are_one_warning(tmp_path: Path) -> None:
    for rank in range(8):
        plant(tmp_path, f"nccl_trace_rank_{rank}")
    (warning,) = unhang.diagnose(str(tmp_path)).warnings
    assert warning.claim.values["count"] == 8
    assert "(+5)" in str(warning.claim.values["files"])


def test_an_empty_dump_is_suspect_where_all_others_wait(tmp_path: Path) -> None:
    dumps(tmp_path, r3=0)
    (tmp_path / "nccl_trace_rank_3").write_bytes(b"")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert "LOC110" in diagnosis.fired
    assert diagnosis.outcome is Outcome.LOCATED
    assert diagnosis.culprits == {3}


def test_an_empty_dump_is_a_remark_where_another_rank_explains_the_wait(tmp_path: Path) -> None:
    folder = stalled(tmp_path / "dumps")
    (folder / "nccl_trace_rank_0").write_bytes(b"")
    diagnosis = unhang.diagnose(str(folder))
    assert "LOC110" in diagnosis.fired
    assert diagnosis.culprits == {2}
    assert diagnosis.coverage.sources == {"log": 0, "flight_recorder": 3}


def test_only_empty_dumps_name_nobody(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(b"")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert diagnosis.culprits == frozenset()
    assert diagnosis.strength is not Strength.PROVES


def test_an_empty_log_is_no_dump(tmp_path: Path) -> None:
    stalled(tmp_path / "dumps")
    for name in ("trace_1.log", "rank_1", "stack_1.txt", "dump.txt"):
        (tmp_path / name).write_bytes(b"")
    diagnosis = unhang.diagnose(str(tmp_path))
    assert "LOC110" not in diagnosis.fired
    assert any("4 files passed over: empty" in p.message for p in diagnosis.problems)
