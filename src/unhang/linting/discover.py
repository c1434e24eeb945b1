"""From paths to documents: finds the files that hold settings, and reads each in its own way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.heredocs import Heredoc, find_heredocs, without_heredocs
from unhang.linting.readers.json import read_json
from unhang.linting.readers.process import read_dump
from unhang.linting.readers.python import read_python
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.toml import read_toml
from unhang.linting.readers.yaml import read_yaml
from unhang.linting.syntax import find_error
from unhang.model.provenance import Problem

_READERS: dict[str, Callable[[SettingsDocument, str], None]] = {
    ".sh": read_shell,
    ".bash": read_shell,
    ".zsh": read_shell,
    ".slurm": read_shell,
    ".sbatch": read_shell,
    ".pbs": read_shell,
    ".env": read_shell,
    ".conf": read_shell,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_json,
    ".toml": read_toml,
    ".py": read_python,
}
_NAMES = (".env", ".deepspeed_env", ".nccl.conf", "nccl.conf")
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "__pycache__", "venv", "wandb", "third_party"}
)
_BINARY = re.compile(rb"[\x01-\x08]")
"""No environment holds these; what a process was given is words with a zero byte after each."""
_LARGEST_BYTES = 1_000_000
_MENTION = re.compile(
    r"(?<![\w./${}~-])[\w./${}~-]{0,255}\w\.(?:json|ya?ml|toml|sh|env|slurm|sbatch)\b"
)
_MOST_FILES = 20_000


def collect(paths: Iterable[str]) -> tuple[list[SettingsDocument], list[Problem]]:
    """Read the files that are named, and those of folders that look like settings.

    Raises:
        UsageError: a path does not exist, or folders hold too much.
    """
    documents: list[SettingsDocument] = []
    problems: list[Problem] = []
    for path, named in _files(paths):
        try:
            found = _read(path, named=named)
        except OSError as error:
            problems.append(
                Problem(artifact=str(path), component="lint", message=f"cannot read it: {error}")
            )
            continue
        documents.extend(found)
        problems.extend(
            Problem(artifact=str(path), component="lint", message=document.error)
            for document in found
            if document.error is not None
        )
    return documents, problems


def _files(paths: Iterable[str]) -> Iterator[tuple[Path, bool]]:
    """Each file with whether it was named itself; a folder's in the order of their names."""
    for text in paths:
        path = Path(text)
        if path.is_dir():
            yield from ((file, False) for file in _walk(path))
        elif path.exists():
            yield path, True
        else:
            raise UsageError(
                f"{text} does not exist; give scripts, configurations or a folder of them"
            )


def _walk(folder: Path) -> Iterator[Path]:
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(d for d in folders if d not in _SKIPPED and not d.startswith("."))
        for name in sorted(names):
            if _reader(name) is None:
                continue
            count += 1
            if count > _MOST_FILES:
                raise UsageError(
                    f"{folder} holds more than {_MOST_FILES} scripts and configurations;"
                    " give a smaller folder"
                )
            yield Path(root) / name


def _read(path: Path, *, named: bool) -> list[SettingsDocument]:
    """A file, and the configurations that it writes as here-documents."""
    if path.stat().st_size > _LARGEST_BYTES:
        if named:
            raise OSError(f"larger than {_LARGEST_BYTES} bytes, so data, not settings")
        return []
    content = path.read_bytes()
    if b"\0" in content:
        if _BINARY.search(content):
            if named:
                raise OSError("binary data, not settings")
            return []
        document = SettingsDocument(name=str(path))
        if named or path.name.startswith("environ"):
            read_dump(document, content)
        return [document]
    return read_text(path, content.decode("utf-8", errors="replace"))


def read_text(path: Path, text: str) -> list[SettingsDocument]:
    """A text as the file of that path would be read."""
    document = SettingsDocument(name=str(path), text=text)
    # A named file of an unknown kind is read like a script: assignments look the same everywhere.
    reader = _reader(path.name) or read_shell
    within: list[SettingsDocument] = []
    document.mentions.update(_MENTION.findall(text))
    if reader is read_shell:
        within = [_heredoc(str(path), text, found) for found in find_heredocs(text)]
        text = without_heredocs(text)
        document.script = text
    reader(document, text)
    error = find_error(path.suffix.lower(), text, document.repeated)
    if error is not None:
        document.error = f"does not parse: {error}; what could be read of it is judged"
    return [document, *within]


def _heredoc(path: str, text: str, found: Heredoc) -> SettingsDocument:
    """A configuration within a script, with the lines of the script."""
    document = SettingsDocument(name=path, becomes=found.name)
    reader = _reader(Path(found.name).name) or read_shell
    reader(document, text[found.start : found.end])
    document.shift(found.line - 1)
    return document


def _reader(name: str) -> Callable[[SettingsDocument, str], None] | None:
    if name in _NAMES or name.startswith(("Dockerfile", "environ")) or name.endswith("Dockerfile"):
        return read_shell
    return _READERS.get(Path(name).suffix.lower())
