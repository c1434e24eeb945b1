"""The documentation is true: its examples run, its generated parts are up to date, its links lead
somewhere."""

import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest

import docs as generator
from unhang.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/rules/*.md", "docs/adr/*.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")
LOADED = re.compile(r"""<(?:script|img|link rel="stylesheet")[^>]*?(?:src|href)="([^"]*)""")
TARGET = re.compile(r"(?:`|^\s*)make ([a-z-]+)", re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind in a page."""
    return [body for found, body in FENCE.findall(path.read_text("utf-8")) if found == kind]


WITH_SHELL = [page for page in PAGES if blocks(page, "console")]
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with the repository's inputs, and `unhang` of this interpreter in `bin`."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    program = tmp_path / "bin" / "unhang"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m unhang "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def examples(block: str) -> Iterator[tuple[str, str]]:
    """Commands (`$ …`) and the output that stands below each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def expected(output: str) -> re.Pattern[str]:
    """`...` stands for anything: alone on a line for any lines, within one for the rest of it."""
    lines = (
        "(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in output.splitlines()
    )
    return re.compile("".join(lines))


@pytest.mark.process
@pytest.mark.timeout(600)  # a page of commands has many examples
@pytest.mark.parametrize("page", WITH_SHELL, ids=name)
def test_shell_examples_run_and_print_what_stands_there(page: Path, workplace: Path) -> None:
    path = f"{workplace / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    for block in blocks(page, "console"):
        for command, output in examples(block):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=workplace,
                env={"PATH": path, "LANG": "C.UTF-8"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr) == (0, ""), command
            assert expected(output).fullmatch(done.stdout), f"{command}\n{done.stdout}"


@pytest.mark.process
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_python_examples_run(page: Path, workplace: Path) -> None:
    for block in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", block],
            cwd=workplace,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), block
        assert done.stdout
        wanted = "".join(f"{line}\n" for line in re.findall(r"  # → (.*)", block))
        if block.count("print(") == wanted.count("\n"):  # each of its lines is told
            assert expected(wanted).fullmatch(done.stdout), done.stdout


def test_there_are_examples() -> None:
    assert {name(page) for page in WITH_SHELL} >= {"docs/commands.md", "docs/getting-started.md"}
    assert WITH_PYTHON


def test_generated_parts_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    wanted = generator.pages()
    for path, text in wanted.items():
        written = (ROOT / path).read_text("utf-8") if (ROOT / path).exists() else ""
        changed = "\n".join(unified_diff(written.splitlines(), text.splitlines(), lineterm="", n=0))
        assert not changed, f"{path}: run `make docs`\n{changed}"
    assert generator.leftovers(wanted) == [], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {target for page in PAGES for target in TARGET.findall(page.read_text("utf-8"))}
    assert "demo" in named
    assert named <= targets


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_section(command: str) -> None:
    assert f"## unhang {command}\n" in (ROOT / "docs" / "commands.md").read_text("utf-8")


def test_the_readmes_show_the_verdict_on_their_first_screen() -> None:
    for readme, begin in (("README.md", "demo"), ("README.zh-CN.md", "demo zh")):
        lines = (ROOT / readme).read_text("utf-8").splitlines()
        assert f"<!-- {begin}:begin -->" in lines[:20], readme


@pytest.mark.process
def test_the_site_is_built_and_asks_for_nothing_from_elsewhere(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path],
        cwd=ROOT,
        check=True,
    )
    pages = list(tmp_path.rglob("*.html"))
    assert {"index.html", "running.html", "before.html"} <= {page.name for page in pages}
    for page in pages:
        loaded = LOADED.findall(page.read_text("utf-8"))
        assert not [address for address in loaded if "//" in address], page
