"""From scripts, configurations, environments and processes to settings that do not do their job."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from unhang.linting.checks import Releases, check
from unhang.linting.discover import collect, read_text
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.process import read_environment, read_process
from unhang.linting.readers.shell import read_shell
from unhang.model.lint import LintReport
from unhang.model.provenance import Problem
from unhang.settings.binary import NcclBinary, NotElf, find_nccl, read_nccl

__all__ = ["lint_settings", "lint_text"]


def lint_settings(
    paths: Iterable[str],
    *,
    pid: int | None = None,
    nccl: str | None = None,
    torch: str | None = None,
    framework: str | None = None,
) -> LintReport:
    """Read and judge; see `unhang.api.lint`."""
    documents, problems = collect(paths)
    if pid is not None:
        documents.extend(read_process(pid))
    if not documents and not problems:
        documents.extend(_environment())
    return _judged(documents, problems, nccl=nccl, torch=torch, framework=framework)


def lint_text(
    path: str,
    text: str,
    *,
    nccl: str | None = None,
    torch: str | None = None,
    framework: str | None = None,
) -> LintReport:
    """Judge a text as the file of that path."""
    documents = read_text(Path(path), text)
    problems = [
        Problem(artifact=path, component="lint", message=d.error) for d in documents if d.error
    ]
    return _judged(documents, problems, nccl=nccl, torch=torch, framework=framework)


def _judged(
    documents: Sequence[SettingsDocument],
    problems: Iterable[Problem],
    *,
    nccl: str | None,
    torch: str | None,
    framework: str | None,
) -> LintReport:
    here = any(document.running for document in documents)
    binary = _installed_nccl() if here or nccl is None else None
    found = None if binary is None else binary.version
    releases = Releases(
        nccl=nccl or (found if here else None),
        torch=torch or (_installed("torch") if here else None),
        framework=_framework(framework),
        binary=binary if nccl is None or nccl == found else None,
    )
    return LintReport(
        findings=check(documents, releases),
        files=len({document.name for document in documents}),
        settings=sum(len(document.settings) for document in documents),
        problems=tuple(problems),
    )


def _environment() -> Iterator[SettingsDocument]:
    """This process's variables, and the files from which NCCL takes more."""
    document = SettingsDocument(name="env")
    read_environment(document, os.environ)
    yield document
    own = os.environ.get("NCCL_CONF_FILE")
    for path in (Path(own) if own else Path.home() / ".nccl.conf", Path("/etc/nccl.conf")):
        if path.is_file():
            settings = SettingsDocument(name=str(path))
            read_shell(settings, path.read_text(encoding="utf-8", errors="replace"))
            yield settings


def _framework(text: str | None) -> tuple[str | None, str | None]:
    """`verl==0.7.1` as name and version."""
    name, _, number = (text or "").partition("==")
    return name or None, number or None


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _installed_nccl() -> NcclBinary | None:
    path = find_nccl()
    if path is None:
        return None
    try:
        return read_nccl(path)
    except (OSError, NotElf):
        return None
