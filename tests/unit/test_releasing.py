"""A release: what its workflow may do, and that version, tag and changelog say the same."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml

from unhang.model.toml import loads

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
VERSION = loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("file", "schema"),
    [(WORKFLOW, "github-workflows"), (ROOT / "action.yml", "github-actions")],
    ids=lambda one: getattr(one, "name", one),
)
def test_it_is_what_github_takes(file: Path, schema: str) -> None:
    schemas = resources.files("check_jsonschema.builtin_schemas.vendor")
    rules = json.loads((schemas / f"{schema}.json").read_text())
    # YAML 1.1 reads `on` as a truth value; GitHub does not.
    text = re.sub(r"(?m)^on:", '"on":', file.read_text())
    validator = jsonschema.validators.validator_for(rules)(rules)
    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


@pytest.mark.process
@pytest.mark.skipif(shutil.which("zizmor", path=str(Path(sys.executable).parent)) is None,
                    reason="zizmor is not installed")  # fmt: skip
def test_nothing_in_it_can_be_taken_over() -> None:
    """No action by a movable name, no right that is not needed, no text of others in a shell."""
    program = Path(sys.executable).with_name("zizmor")
    words = ["--offline", "--quiet", "--persona", "auditor", "--min-severity", "low"]
    files = [str(WORKFLOW), str(ROOT / "action.yml")]
    done = subprocess.run(
        [program, *words, *files], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout


def _scripts() -> Iterator[str]:
    for job in yaml.safe_load(WORKFLOW.read_text())["jobs"].values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.process
@pytest.mark.parametrize(("tag", "ends"), [(f"v{VERSION}", 0), (f"v{VERSION}.1", 1), ("v", 1)])
def test_only_a_tag_of_this_version_is_released(tag: str, ends: int) -> None:
    (script,) = (script for script in _scripts() if "GITHUB_REF_NAME#v" in script)
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env=environment, check=False)
    assert done.returncode == ends


def test_the_version_is_semantic() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", VERSION)


def test_it_asks_the_pythons_of_make_release_for_verdicts() -> None:
    (script,) = (script for script in _scripts() if "tools/release.py" in script)
    asked = re.findall(r"\b3\.\d+\b", script.partition("release.py")[2])
    (told,) = re.findall(r"\$\(or \$\(PYTHONS\),([^)]*)\)", (ROOT / "Makefile").read_text())
    assert asked == told.split()


def test_it_lists_the_packages_of_every_extra() -> None:
    extras = set(loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    (script,) = (script for script in _scripts() if "tools/sbom.py" in script)
    (installed,) = re.findall(r"\.\[([a-z,]+)\]", script)
    (listed,) = re.findall(r"tools/sbom\.py ([a-z ]+)>", script)
    (made,) = re.findall(r"tools/sbom\.py ([a-z ]+)>", (ROOT / "Makefile").read_text())
    assert set(installed.split(",")) == set(listed.split()) == set(made.split()) == extras
