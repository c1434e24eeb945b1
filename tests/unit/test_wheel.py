"""What an installed unhang holds: the kit of drills, and nothing that belongs to a checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from unhang.commands import COMMANDS
from unhang.errors import UsageError
from unhang.lab import checkout

REPOSITORY = Path(__file__).resolve().parents[2]
OF_A_CHECKOUT = ("rehears", "situation", "recbole/", "verl_ppo")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    tree = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, tree)
    (tree / "docs").mkdir()
    shutil.copy(REPOSITORY / "docs" / "unhang.1", tree / "docs")
    for folder in ("src", "rehearsals"):
        shutil.copytree(
            REPOSITORY / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    (built,) = WheelBuilder(str(tree)).build(directory=str(tree / "dist"), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_the_kit_of_drills_is_installed(wheel: list[str]) -> None:
    lab = REPOSITORY / "src" / "unhang" / "lab"
    kit = {
        str(file.relative_to(REPOSITORY / "src"))
        for file in lab.rglob("*.py")
        if "__pycache__" not in file.parts
    }
    assert {"unhang/lab/site/sitecustomize.py", "unhang/lab/scripts/train.py"} <= kit
    assert kit <= set(wheel)


def test_situations_are_not_installed(wheel: list[str]) -> None:
    outside = [name for name in wheel if not name.startswith(("unhang/", "unhang-"))]
    assert outside == []
    assert [name for name in wheel if any(word in name for word in OF_A_CHECKOUT)] == []


def test_the_manual_page_is_installed(wheel: list[str]) -> None:
    assert [name.partition(".data/")[2] for name in wheel if name.endswith(".1")] == [
        "data/share/man/man1/unhang.1"
    ]


@pytest.mark.process
@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_sound_and_holds_every_command() -> None:
    page = REPOSITORY / "docs" / "unhang.1"
    command = ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-rLL=90n", "-P-cbou", str(page)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    assert [name for name in COMMANDS if f"unhang {name}" not in shown.stdout] == []


def test_every_file_of_the_package_is_installed(wheel: list[str]) -> None:
    package = REPOSITORY / "src"
    there = {
        str(file.relative_to(package))
        for file in (package / "unhang").rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    }
    assert there - set(wheel) == set()


def test_an_installed_package_says_where_situations_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert checkout.rehearsals() is not None
    monkeypatch.setattr(checkout, "_SOURCES", tmp_path / "site-packages")
    assert checkout.rehearsals() is None
    with pytest.raises(UsageError, match="Clone the repository, run `make setup`"):
        checkout.needed_rehearsals()


def test_a_folder_called_src_alone_is_no_checkout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checkout, "_SOURCES", tmp_path / "src")
    assert checkout.rehearsals() is None
    assert str(tmp_path) not in sys.path
