"""The scaffold of a rule writes files that import and pass."""

import subprocess
import sys
from pathlib import Path

import pytest

import new_rule

ROOT = Path(__file__).parents[2]


def test_what_it_writes_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new_rule.main(["DSY998", "a-made-up-thing", "--cause", "desync", "--root", str(tmp_path)])
    module = tmp_path / "src/unhang/rules/desync/a_made_up_thing.py"
    test = tmp_path / "tests/unit/rules/desync/test_a_made_up_thing.py"
    assert "DSY998" in capsys.readouterr().out
    namespace: dict[str, object] = {"__name__": "scaffold"}
    exec(compile(module.read_text("utf-8"), str(module), "exec"), namespace)
    assert getattr(namespace["check"], "code", None) == "DSY998"
    body = test.read_text("utf-8").partition("import check\n")[2]
    program = "import sys; sys.path.insert(0, 'tests')\nfrom builders import ended, incident\n"
    program += module.read_text("utf-8").replace("from __future__ import annotations\n", "") + body
    program += "\ntest_it_fires()\ntest_a_near_miss_stays_quiet()\n"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "name"),
    [("XYZ001", "a-name"), ("DSY1", "a-name"), ("DSY998", "Name"), ("DSY998", "name")],
)
def test_wrong_names_are_refused(code: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as refusal:
        new_rule.main([code, name, "--cause", "desync", "--root", str(tmp_path)])
    assert refusal.value.code == 2
    assert not list(tmp_path.iterdir())
