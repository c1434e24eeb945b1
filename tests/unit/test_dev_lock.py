"""The lock of the development environment has all that it requires, in fitting versions, hashed."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from unhang.model.toml import loads

ROOT = Path(__file__).parents[2]
LOCKED = {
    canonicalize_name(entry[1]): (entry[2], entry[3])
    for entry in re.finditer(
        r"^([\w.-]+)==([\w.+!-]+)(?: ; [^\n\\]*)?((?: \\\n    --hash=sha256:[0-9a-f]{64})*)$",
        (ROOT / "dev.lock").read_text(),
        re.MULTILINE,
    )
}


def _required() -> list[Requirement]:
    told = loads((ROOT / "pyproject.toml").read_text())
    extras = told["project"]["optional-dependencies"]
    lines = [
        *told["project"]["dependencies"],
        *(line for name in ("fast", "remote", "screens") for line in extras[name]),
        *told["dependency-groups"]["dev"],
    ]
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    lines += [line for line in pinned if not line.startswith(("#", "torch=="))]
    found = [Requirement(line) for line in lines]
    return [r for r in found if r.marker is None or r.marker.evaluate({"python_version": "3.12"})]


@pytest.mark.parametrize("requirement", _required(), ids=str)
def test_what_is_required_is_locked(requirement: Requirement) -> None:
    version, _ = LOCKED[canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version, prereleases=True)


def test_every_package_has_hashes() -> None:
    lines = (ROOT / "dev.lock").read_text().splitlines()
    names = [line for line in lines if line and not line.startswith(("#", " "))]
    assert len(LOCKED) > 50
    assert [line for line in names if "==" not in line] == []
    assert [name for name, (_, hashes) in LOCKED.items() if not hashes] == []
