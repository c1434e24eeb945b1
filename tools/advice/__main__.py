"""`make advice`: put every patch through the framework's own code, and write docs/advice.md.

Released packages and virtual environments are kept under `--cache`, outside of the tree. What a
release needs beside itself stands in `environments.toml`; PyTorch is the one of this environment.
Exit code 1 when a patch is refused, goes the wrong way or nowhere, or holds a placeholder.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import json
import subprocess
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from advice.page import write_page
from advice.patches import Patch, patches, problem, words
from advice.record import fingerprint
from knobs.releases import MissingRelease, unpacked
from unhang.model import toml
from unhang.settings import Framework, frameworks

HERE = Path(__file__).parent
_PATIENCE_S = 300
CHECKS = toml.loads((HERE / "environments.toml").read_text(encoding="utf-8"))


def main() -> int:
    """Check all frameworks, or those that are named."""
    arguments = argparse.ArgumentParser(prog="advice", description=__doc__)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--cache", type=Path, required=True)
    arguments.add_argument("--current", action="store_true", help="newest releases only")
    arguments.add_argument("--kept", action="store_true", help="ask nothing anew")
    arguments.add_argument("--write", type=Path, help="the page to write")
    given = arguments.parse_args()
    rows: list[dict[str, Any]] = []
    failures = 0
    made_of = fingerprint()
    for framework in frameworks().values():
        if not framework.recipes or (given.names and framework.name not in given.names):
            continue
        releases = framework.releases or (None,)
        for release in releases[:1] if given.current else releases:
            row, wrong = _check(framework, release, given.cache, ask=not given.kept)
            rows.append(row)
            failures += len(wrong)
            print(json.dumps(row, ensure_ascii=False), flush=True)
            for line in wrong:
                print(f"  {line}")
    if given.write is not None and not given.names:
        write_page(given.write, rows, made_of)
    return int(failures > 0)


def _check(
    framework: Framework, release: str | None, cache: Path, *, ask: bool
) -> tuple[dict[str, Any], list[str]]:
    found = list({patch.identity: patch for patch in patches(framework, release)}.values())
    wrong = [f"{p.remedy}: {p.shown}: {what}" for p in found if (what := problem(p)) is not None]
    kinds = Counter(Counter(why.split(": ")[-1].split(" ")[0] for why in wrong))
    answers, missing = _ask(framework, release, found, cache, ask=ask)
    refused = [
        f"{p.remedy} ({p.form}, {p.owner}): {p.shown}: {why}"
        for p in found
        if (why := answers.get(_id(p), None)) is not None
    ]
    of_framework = [p for p in found if p.kind in ("settings", "code", "variables")]
    row = {
        "framework": framework.name,
        "release": release,
        "patches": len(of_framework),
        "own": sum(_id(p) in answers for p in of_framework),
        "general": len(found) - len(of_framework),
        "rejected": len(refused),
        "wrong": sum("wrong way" in line for line in wrong),
        "no_op": kinds["no-op"],
        "placeholder": kinds["placeholder"],
        "exceptions": [*wrong, *refused],
        "missing": missing,
    }
    return row, [*wrong, *refused]


def _id(patch: Patch) -> str:
    return hashlib.sha256(patch.identity.encode()).hexdigest()[:16]


def _ask(
    framework: Framework, release: str | None, found: Iterable[Patch], cache: Path, *, ask: bool
) -> tuple[dict[str, str | None], list[str]]:
    """Answers of the framework's own code, by patch, and why it could not be asked."""
    answers: dict[str, str | None] = {}
    missing: list[str] = []
    setups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for patch in found:
        setup = _setup(framework, release, patch)
        if setup is not None:
            name, check = setup
            setups.setdefault((name, patch.owner), []).append(_question(patch, check))
    for (name, owner), questions in setups.items():
        try:
            python = _environment(name, cache) if ask else Path()
            sources = _sources(name, framework, release, owner, cache)
        except (MissingRelease, subprocess.CalledProcessError) as why:
            missing.append(str(why))
            continue
        folders = [
            str(folder)
            for source in sources
            for folder in (source, source / "src", *source.glob("*.data/purelib"))
        ]
        # A file of another framework is asked about once for all that write it.
        asked_of = f"{owner}-{release}" if owner == framework.name else owner
        kept = _Kept(cache, f"{asked_of}-{name}")
        answers.update(kept.known(questions))
        asked = [q for q in questions if q["id"] not in answers]
        text, said = _run(python, asked, folders, cache) if asked and ask else ("", "")
        if text.strip().startswith("{"):
            answers.update(json.loads(text))
            kept.keep(json.loads(text), asked)
        for line in list(dict.fromkeys(said.splitlines()))[-2:]:
            print(f"    {framework.name} {release} ({name}): {line[:300]}", file=sys.stderr)
    return answers, list(dict.fromkeys(missing))


class _Kept:
    """Answers of an earlier run: a release, a question and the way of asking do not change."""

    def __init__(self, cache: Path, name: str) -> None:
        self._folder, self._name = cache / "answers", name

    def known(self, questions: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
        checks = {q["id"]: q["check"] for q in questions}
        old = {check: self._read(check) for check in checks.values()}
        return {each: old[check][each] for each, check in checks.items() if each in old[check]}

    def keep(self, new: Mapping[str, str | None], questions: Iterable[Mapping[str, Any]]) -> None:
        checks = {q["id"]: q["check"] for q in questions}
        for check in set(checks.values()):
            told = {each: why for each, why in new.items() if checks[each] == check}
            path = self._path(check)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({**self._read(check), **told}), encoding="utf-8")

    def _read(self, check: str) -> dict[str, str | None]:
        path = self._path(check)
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return cast("dict[str, str | None]", found)

    def _path(self, check: str) -> Path:
        return self._folder / _way(check) / f"{self._name}.json"


@functools.cache
def _way(check: str) -> str:
    """A hash of how a question is asked: of the program without its other checks."""
    tree = ast.parse((HERE / "own.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _is_check(node) or node.name == check]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:12]


def _is_check(node: ast.stmt) -> bool:
    arguments = node.args.args if isinstance(node, ast.FunctionDef) else []
    return [ast.unparse(a) for a in arguments] == ["question: Question"] and (
        isinstance(node, ast.FunctionDef) and node.name != "cannot_ask"
    )


def _run(
    python: Path, questions: list[dict[str, Any]], folders: list[str], cache: Path
) -> tuple[str, str]:
    """What the framework's code answers, and what it says besides; a slow import has no answer."""
    try:
        done = subprocess.run(
            [str(python), str(HERE / "own.py")],
            input=json.dumps(questions, default=str),
            capture_output=True,
            text=True,
            check=False,
            env={
                "PYTHONPATH": ":".join(folders),
                "PATH": "/usr/bin:/bin",
                "CUDA_VISIBLE_DEVICES": "",
                "DS_ACCELERATOR": "cpu",
                "HF_HUB_OFFLINE": "1",
                "DISABLE_VERSION_CHECK": "1",  # LLaMA-Factory's, of what is installed beside it
                "HOME": str(cache / "home"),
            },
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_PATIENCE_S} s"
    return done.stdout, done.stderr


def _setup(framework: Framework, release: str | None, patch: Patch) -> tuple[str, str] | None:
    """The environment and the check for one patch; None where there is none."""
    if patch.kind == "code" and patch.form == "python":
        row = CHECKS["code"].get(framework.name)
        check = row.get("check", "code") if isinstance(row, dict) else "code"
        return None if row is None else (_by_release(row, release), check)
    if patch.kind != "settings":
        return None
    owned = CHECKS["settings"].get(f"{framework.name}.{patch.owner}.{patch.form}")
    row = owned or CHECKS["settings"].get(f"{patch.owner}.{patch.form}")
    row = row or CHECKS["settings"].get(patch.owner)
    return None if row is None else (_by_release(row["environment"], release), row["check"])


def _by_release(row: Mapping[str, str] | str, release: str | None) -> str:
    if isinstance(row, str):
        return row
    return row.get(release or "", row["default"])


def _question(patch: Patch, check: str) -> dict[str, Any]:
    return {
        "id": _id(patch),
        "check": check,
        "strategy": patch.strategy,
        "settings": dict(patch.settings),
        "words": words(patch),
        "text": patch.text,
    }


def _sources(
    name: str, framework: Framework, release: str | None, owner: str, cache: Path
) -> list[Path]:
    """Unpacked releases: of the owner's package, then of what the environment brings along."""
    wanted: dict[str, str] = {}
    for package, releases in frameworks()[owner].packages.items():
        if owner != framework.name:
            wanted[package] = releases[0]
        elif release in releases:
            wanted[package] = release
    for package, number in CHECKS["environments"][name].get("beside", {}).items():
        wanted.setdefault(package, number)
    return [unpacked(cache, package, number) for package, number in wanted.items()]


def _environment(name: str, cache: Path) -> Path:
    """A virtual environment with what the releases need beside themselves; made once."""
    name = CHECKS["environments"][name].get("same_as", name)
    row = CHECKS["environments"][name]
    folder = cache / "environments" / name
    python = folder / "bin/python"
    wanted = json.dumps([row["install"], row.get("alone", [])])
    stamp = folder / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    # PyTorch is large: the one of this environment serves.
    (site / "zz_torch.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *row["install"]], check=True)
    if row.get("alone"):
        subprocess.run([*pip, "--no-deps", *row["alone"]], check=True)
    stamp.write_text(wanted)
    return python


if __name__ == "__main__":
    sys.exit(main())
