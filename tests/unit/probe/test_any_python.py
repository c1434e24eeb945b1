"""The probe says nothing in a Python that it does not fit, and lets the next hook run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from unhang.probe.environment import additions

_VERSIONS = Path.home() / ".pyenv" / "versions"
_OLD = ("2.7", "3.5", "3.6", "3.7", "3.8")


def pythons() -> list[str]:
    """This Python, and each older one that is installed beside it."""
    found = [sys.executable]
    for version in _OLD:
        beside = sorted(_VERSIONS.glob(f"{version}.*/bin/python{version}"))
        path = str(beside[0]) if beside else shutil.which(f"python{version}")
        if path is not None:
            found.append(path)
    return found


@pytest.mark.process
@pytest.mark.parametrize("python", pythons(), ids=lambda path: Path(path).name)
def test_it_is_silent_and_the_next_hook_runs(python: str, tmp_path: Path) -> None:
    behind, run = tmp_path / "behind", tmp_path / "run"
    behind.mkdir()
    run.mkdir()
    (behind / "sitecustomize.py").write_text("import os; os.environ['NEXT'] = 'ran'\n")
    base = {"PATH": os.environ["PATH"], "PYTHONPATH": str(behind), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-c", "import os, sys; sys.stdout.write(os.environ['NEXT'])"],
        env=base | additions(base, run_folder=str(run)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "ran")
    assert list(run.iterdir()) == [], "a process that does not train leaves nothing"
