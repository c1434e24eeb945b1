"""Logs that lie elsewhere: `s3://…`, `gs://…`, `hf://…`, `https://…`, through fsspec."""

from __future__ import annotations

from collections.abc import Iterator
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

    Raises:
        UsageError: what is needed to read it is not installed, or nothing is there.
    """
    for path, open_, size in _files(url):
        if is_data(path) or is_source(path):
            budget.data_files += 1
            continue
        for item in expand(path, open_, budget, origin=origin_of(path), again=False):
            yield item
            budget.read(size)


def _files(url: str) -> list[tuple[str, partial[Any], int]]:
    scheme = url.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            f"{url}: reading {scheme}:// needs fsspec; install it with pip install 'unhang[remote]'"
        ) from None
    try:
        system, root = fsspec.core.url_to_fs(url)
        paths = _paths(system, root)
    except ImportError as error:
        raise UsageError(f"{url}: {error} (with pip, beside unhang)") from None
    except Exception as error:  # whatever a storage back end raises is the user's to read
        raise UsageError(f"{url}: cannot be listed ({type(error).__name__}: {error})") from error
    if not paths:
        raise UsageError(f"{url}: no such file or folder")
    return [
        (f"{scheme}://{path.lstrip('/')}", partial(system.open, path, "rb"), int(size))
        for path, size in paths
    ]


def _paths(system: Any, root: str) -> list[tuple[str, int]]:  # noqa: ANN401 (fsspec has no types)
    """Files below `root` with their sizes, in order."""
    if any(mark in root for mark in "*?["):
        found = [path for path in system.glob(root) if system.isfile(path)]
    elif system.isdir(root):
        found = system.find(root)
    else:
        found = [root] if system.exists(root) else []
    return [(path, system.size(path) or 0) for path in sorted(found)]
