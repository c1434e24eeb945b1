"""Logs that lie elsewhere: `s3://…`, `gs://…`, `hf://…`, `https://…`, through fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from unhang.errors import UsageError
from unhang.model.provenance import Problem
from unhang.sources.archives import Budget, expand
from unhang.sources.artifact import Artifact
from unhang.sources.hints import origin_of
from unhang.sources.kinds import is_data, is_source


def remote(url: str, budget: Budget) -> Iterator[Artifact | Problem]:
    """Yield the artifacts at a URL: a file, a folder or a pattern.

    A file is read where it lies, as often as is needed and by several processes; a member of an
    archive as it comes by.

    Raises:
        UsageError: what is needed to read it is not installed, or nothing is there.
    """
    for path, open_, size in files_at(url):
        if is_data(path) or is_source(path):
            budget.data_files += 1
            continue
        for item in expand(path, open_, budget, origin=origin_of(path), again=True):
            if isinstance(item, Artifact) and item.name == path:
                yield replace(item, size_bytes=size, again=True)
            else:
                yield item


def files_at(url: str) -> list[tuple[str, partial[Any], int]]:
    """The URL of each file at a URL, what opens it, and its bytes.

    Raises:
        UsageError: as `remote` does.
    """
    scheme = url.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            f"{url}: reading {scheme}:// needs fsspec; install it with pip install 'unhang[remote]'"
        ) from None
    try:
        system, root = fsspec.core.url_to_fs(url)
        entries = _entries(system, root)
    except ImportError as error:
        raise UsageError(f"{url}: {error} (with pip, beside unhang)") from None
    except Exception as error:  # whatever a storage back end raises is the user's to read
        raise UsageError(f"{url}: cannot be listed ({type(error).__name__}: {error})") from error
    if not entries:
        raise UsageError(f"{url}: no such file or folder")
    return [
        (
            path if "://" in path else f"{scheme}://{path.lstrip('/')}",
            partial(system.open, path, "rb"),
            int(info["size"] or 0),
        )
        for path, info in sorted(entries.items())
    ]


def _entries(system: Any, root: str) -> dict[str, Any]:  # noqa: ANN401 (fsspec has no types)
    """What the store tells of each file at `root`, by path."""
    if any(mark in root for mark in "*?["):
        found = system.glob(root, detail=True)
    elif system.isdir(root):
        found = system.find(root, detail=True)
    else:
        found = {root: system.info(root)} if system.exists(root) else {}
    return {path: info for path, info in found.items() if info["type"] == "file"}
