"""Released packages on disk: downloaded once, unpacked, never installed and never imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

_WANTED = (".py", ".yaml", ".yml", ".json", "METADATA", "PKG-INFO", "version.info")


def unpacked(cache: Path, package: str, release: str) -> Path:
    """Return the folder with the sources of one release, downloading it where it is missing.

    Raises:
        RuntimeError: pip could not download it.
    """
    folder = cache / "packages" / package / release
    if (folder / ".complete").exists():
        return folder
    archive = _download(cache / "archives" / package / release, package, release)
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
    # A source distribution runs its setup to tell its metadata: only where there is no wheel.
    for extra in (["--only-binary=:all:"], ["--no-binary=:all:"]):
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
    raise RuntimeError(f"{package}=={release}: {done.stderr.strip()[-300:]}")


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
