"""Released packages on disk: downloaded once, unpacked, never installed and never imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

# PyPI has no `megatron-lm`; since 0.17 the wheels of `megatron-core` hold `megatron/training`, too.
# An older release is read where its sources lie in the cache: `git archive core_v0.16.1 | tar x`.
_CARRIED_BY = {"megatron-lm": "megatron-core"}
_NEWER_PYTHONS = ("3.12", "3.13", "3.14")
_WANTED = (".py", ".yaml", ".yml", ".json", "METADATA", "PKG-INFO", "version.info", "/version")


class MissingRelease(Exception):
    """Why a release cannot be had."""


def unpacked(cache: Path, package: str, release: str) -> Path:
    """Return the folder with the sources of one release, downloading it where it is missing.

    Raises:
        MissingRelease: pip could not download it.
    """
    folder = cache / "packages" / package / release
    if (folder / ".complete").exists():
        return folder
    carrier = _CARRIED_BY.get(package, package)
    archive = _download(cache / "archives" / package / release, carrier, release)
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix in (".whl", ".zip"):
        _unzip(archive, folder)
    else:
        _untar(archive, folder)
    (folder / ".complete").touch()
    return folder


def _download(folder: Path, package: str, release: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    base = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--ignore-requires-python", "--dest", str(folder), f"{package}=={release}"),
    ]
    # A wheel of another Python is read as well; a source distribution runs its setup to tell its
    # metadata: only where there is no wheel.
    wheel = "--only-binary=:all:"
    newer = [[wheel, "--python-version", python] for python in _NEWER_PYTHONS]
    for extra in ([wheel], *newer, ["--no-binary=:all:"]):
        done = subprocess.run(
            [*base, *extra],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "DS_BUILD_OPS": "0"},
        )
        found = [p for p in folder.iterdir() if p.suffix in (".whl", ".gz", ".zip")]
        if found:
            return found[0]
    said = done.stderr.strip().splitlines() or [""]
    raise MissingRelease(f"pip has no {package} {release} ({said[-1][:120]})")


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as source:
        for name in source.namelist():
            if name.endswith(_WANTED):
                source.extract(name, folder)


def _untar(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as source:
        for member in source.getmembers():
            inner = member.name.partition("/")[2]
            if member.isfile() and inner.endswith(_WANTED):
                member.name = inner
                source.extract(member, folder, filter="data")
