"""Lines around quoted ones, from plain files that still hold them."""

from __future__ import annotations

from pathlib import Path

from unhang.model.provenance import Provenance
from unhang.sources.excerpts import AROUND, excerpts


def test_lines_around_a_quoted_one(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("".join(f"line number {n} of the log\n" for n in range(1, 31)))
    quoted = [
        Provenance(artifact=str(log), line=2, text="line number 2 of the log"),
        Provenance(artifact=str(log), line=20, text="line number 20 of the log"),
    ]
    found = excerpts(quoted)
    assert found[str(log), 2].first == 1
    assert found[str(log), 2].text.split("\n")[-1] == f"line number {2 + AROUND} of the log"
    assert found[str(log), 20].first == 20 - AROUND
    assert found[str(log), 20].text.count("\n") == 2 * AROUND


def test_what_has_changed_or_is_no_plain_file_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    log.write_text("another line stands here now\n")
    quoted = [
        Provenance(artifact=str(log), line=1, text="Watchdog caught collective timeout"),
        Provenance(artifact=str(log), line=9, text="another line"),
        Provenance(artifact=f"{log}.tar.gz!a.log", line=1, text="x"),
        Provenance(artifact=str(tmp_path), line=1, text="x"),
        Provenance(artifact=str(log), line=None, text="another line"),
    ]
    assert excerpts(quoted) == {}
