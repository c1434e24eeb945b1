"""`unhang timeline`: what it writes, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.small_dumps import dumps
from unhang import timeline
from unhang.commands import invoke
from unhang.tracing.perfetto import encode_trace


def test_it_writes_a_trace_and_says_what_never_completed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, target = str(dumps(tmp_path / "dumps", r3=6)), tmp_path / "t.pftrace"
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "en"]) == 0
    out = capsys.readouterr().out
    assert f"Wrote {target}: 33 slices." in out
    assert "3 calls never completed; waiting in them: ranks 0-2" in out
    assert target.read_bytes() == encode_trace(timeline(folder))


def test_by_the_name_of_the_file_it_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "t.html"
    folder = str(dumps(tmp_path / "dumps", r3=6))
    assert invoke(["timeline", folder, "-o", str(target), "--lang", "zh"]) == 0
    assert "3 次调用始终没有完成" in capsys.readouterr().out
    assert 'data-cells="heat-ranks"' in target.read_text(encoding="utf-8")


def test_what_cannot_be_read_or_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["timeline", str(tmp_path / "none")]) == 2
    (tmp_path / "x.log").write_text("nothing to see\n")
    assert invoke(["timeline", str(tmp_path / "x.log")]) == 2
    folder = str(dumps(tmp_path / "dumps"))
    assert invoke(["timeline", folder, "-o", str(tmp_path / "no" / "t.pftrace")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 3
    assert "Traceback" not in err
