"""What a watched run leaves is for its owner only, whatever the umask; the job keeps its own."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

JOB = """
import os, sys
os.umask(os.umask(0))  # unchanged
print("mask", oct(os.umask(0)), flush=True)
open(sys.argv[1], "w").close()
"""


@pytest.mark.process
def test_a_run_folder_is_private(tmp_path: Path) -> None:
    run, made = tmp_path / "runs" / "one", tmp_path / "made"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "unhang", "run", "--out", str(run), "--"),
            *(sys.executable, "-c", JOB, str(made)),
        ],
        env={k: v for k, v in os.environ.items() if not k.startswith("UNHANG_")},
        umask=0o002,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "mask 0o2" in done.stdout
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    modes = {
        str(path.relative_to(run)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in run.rglob("*")
    }
    assert {"run.json", "events.jsonl", "agents"} <= set(modes)
    open_to_others = {name: mode for name, mode in modes.items() if int(mode, 8) & 0o077}
    assert open_to_others == {}
