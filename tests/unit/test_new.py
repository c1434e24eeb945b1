"""What the scaffold writes runs as it is, and says what is to be filled."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import new

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with rules, parsers for two kinds of events, and an event."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests/support", copy / "tests/support")
    shutil.copy(ROOT / "tests/conftest.py", copy / "tests")
    shutil.copy(ROOT / "pyproject.toml", copy)
    root = ["--root", str(copy)]
    assert new.main([*root, "rule", "DSY998", "a-made-up-thing", "--cause", "desync"]) == 0
    assert (
        new.main([*root, "rule", "LOC998", "a-made-up-place", "--event", "CollectiveTimeout"]) == 0
    )
    assert new.main([*root, "parser", "made-up", "--event", "GlooFault"]) == 0
    assert new.main([*root, "parser", "made-up-too", "--event", "VersionSeen"]) == 0
    assert new.main([*root, "event", "MadeUp", "--fact", "GLOO"]) == 0
    run(copy, "tools.new", *root, "parser", "made-up-event", "--event", "MadeUp")
    return copy


def run(tree: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=tree,
        env={"PYTHONPATH": str(tree / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_it_is_formatted_and_without_lint(tree: Path) -> None:
    run(tree, "ruff", "format", "--check", "--no-cache", "src", "tests")
    run(tree, "ruff", "check", "--no-cache", "src", "tests")


@pytest.mark.process
def test_its_own_tests_pass(tree: Path) -> None:
    run(tree, "pytest", "-p", "no:cacheprovider", "tests/unit")


@pytest.mark.process
def test_its_types_are_right(tree: Path) -> None:
    written = [str(p.relative_to(tree)) for p in tree.rglob("*made_up*.py")]
    assert len(written) == 10
    if (ROOT / ".mypy_cache").is_dir():  # `make types` has read what was not written now
        shutil.copytree(ROOT / ".mypy_cache", tree / ".mypy_cache")
    run(tree, "mypy", *written)


@pytest.mark.process
def test_rules_and_parsers_are_found_and_translated(tree: Path) -> None:
    program = "from unhang.rules import RULES; from unhang.parsers import PARSERS;"
    program += "from unhang.reporters.catalogue import own_sentences;"
    program += "assert {'DSY998', 'LOC998'} <= {rule.code for rule in RULES};"
    program += (
        "assert {'made-up', 'made-up-too', 'made-up-event'} <= {parser.NAME for parser in PARSERS};"
    )
    program += "assert {'DSY998.claim', 'LOC998.why'} <= own_sentences('zh').keys();"
    program += "assert 'means.MadeUp' in own_sentences('en') and own_sentences('zh')"
    (tree / "look.py").write_text(program)
    run(tree, "look")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rule", "XYZ001", "a-name", "--cause", "desync"], "a code is one of"),
        (["rule", "DSY1", "a-name", "--cause", "desync"], "a code is one of"),
        (["rule", "DSY998", "Name", "--cause", "desync"], "words in lower case"),
        (["rule", "DSY998", "name", "--cause", "desync"], "words in lower case"),
        (["rule", "DSY998", "a-name"], "names its --cause"),
        (["rule", "LOC998", "a-name", "--cause", "desync"], "names its --cause"),
        (["rule", "DSY998", "a-name", "--cause", "bad luck"], "invalid choice"),
        (["parser", "Gloo"], "words in lower case"),
        (["event", "made_up"], "in CamelCase"),
        (["event", "MadeUp", "--home", "base_ment"], "no such module"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refusal:
        new.main(["--root", str(tmp_path), *arguments])
    assert refusal.value.code == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_nothing_is_written_over(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["rule", "DSY998", "a-made-up-name", "--cause", "desync"],
        ["parser", "made-up"],
    ):
        with pytest.raises(SystemExit):
            new.main(["--root", str(tree), *arguments])
        assert "exists" in capsys.readouterr().err
