"""The situations hang together: jobs, patches, pins, remedies, truths."""

import ast
import subprocess

import pytest
from rehearsals.environments import ENVIRONMENTS, Environment
from rehearsals.page import patches_of
from rehearsals.registry import SITUATIONS, find_situation
from rehearsals.situation import Situation
from rehearsals.workplace import SCRIPTS

from unhang.errors import UsageError

EVERY = pytest.mark.parametrize("situation", SITUATIONS.values(), ids=lambda each: each.name)
SITE = SCRIPTS / "site" / "situation_site"


@pytest.mark.process
@EVERY
def test_the_job_is_there_and_its_shell_script_is_sound(situation: Situation) -> None:
    shell, script = situation.command
    assert shell == "sh"
    path = SCRIPTS / situation.job / script
    assert subprocess.run(["sh", "-n", path], check=False).returncode == 0


@EVERY
def test_each_patch_says_what_it_does_and_after_which_import(situation: Situation) -> None:
    for name, says in patches_of(situation).items():
        assert says.endswith("."), name
        tree = ast.parse((SITE / f"{name}.py").read_text(encoding="utf-8"))
        assigned = {t.id for n in tree.body if isinstance(n, ast.Assign) for t in _names(n)}
        functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        assert "AFTER" in assigned
        assert "apply" in functions


def _names(node: ast.Assign) -> list[ast.Name]:
    return [target for target in node.targets if isinstance(target, ast.Name)]


@EVERY
def test_patches_and_faults_are_told_apart(situation: Situation) -> None:
    assert situation.fault
    assert not set(situation.patches) & set(situation.fault)


@EVERY
def test_the_truth_is_one(situation: Situation) -> None:
    assert situation.culprits <= frozenset(range(situation.world))
    assert situation.cause.value not in situation.accept


@EVERY
def test_the_remedy_fits_the_files_of_the_job(situation: Situation) -> None:
    remedy, job = situation.remedy, SCRIPTS / situation.job
    assert remedy.files
    assert all((job / name).is_file() for name in remedy.files)
    for name, old, new in remedy.edits:
        assert old in (job / name).read_text(encoding="utf-8")
        assert old != new
    assert remedy.written is not bool(remedy.edits)


@EVERY
def test_all_versions_are_pinned(situation: Situation) -> None:
    assert "?" not in situation.versions.values()


def test_no_patch_is_left_over() -> None:
    used = {name for each in SITUATIONS.values() for name in (*each.patches, *each.fault)}
    shared = {"__init__", "moment", "storage"}
    assert {path.stem for path in SITE.glob("*.py")} == used | shared


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda each: each.name)
def test_every_pin_is_exact_and_torch_is_among_them(environment: Environment) -> None:
    assert all(pin.count("==") == 1 for pin in environment.pins)
    assert environment.version("torch") != "?"


def test_other_pins_make_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {environment.key for environment in ENVIRONMENTS}
    assert len(keys) == len(ENVIRONMENTS)
    before = ENVIRONMENTS[0].key
    monkeypatch.setattr(Environment, "pins", ("torch==2.0.0",))
    assert ENVIRONMENTS[0].key != before


def test_the_cache_follows_the_users_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    environment = ENVIRONMENTS[0]
    assert environment.python.is_relative_to("/elsewhere/unhang/drills")
    assert not environment.is_ready


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="trl-slow-save"):
        find_situation("trl")
