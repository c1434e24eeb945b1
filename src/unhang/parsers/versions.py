"""From texts that state versions to `VersionSeen`.

Reads::

    PyTorch version: 2.6.0+cu124                 (torch.utils.collect_env)
    torch version .................... 2.1.0     (ds_report)
    - PyTorch version (GPU?): 2.5.1+cu121 (True) (transformers env)
    nvidia-nccl-cu12==2.21.5                     (pip)
    NVIDIA-SMI 550.54.14   Driver Version: 550.54.14   CUDA Version: 12.4
    DeepSpeed info: version=0.14.4, git-hash=unknown
    … unhandled cuda error, NCCL version 2.18.5  (end of an NCCL exception)

Traps: `CUDA Version` of nvidia-smi is what the driver supports, not what torch was built with;
the python of a path under site-packages is certain, a bare `python3` says nothing; a version is
repeated by every rank and is said once.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, VersionSeen
from unhang.model.forms import rows
from unhang.model.toml import load
from unhang.parsers.base import LineParser, needles, place
from unhang.sources.line import Line

_V = r"v?(?P<version>\d{1,4}(?:\.\d{1,5}){1,3}(?:[-+.]?[a-z][\w.+-]{0,30}|\+[\w.]{1,30})?)"
_DATA = "unhang.parsers", "data/versions.toml"
_PACKAGES: list[str] = load(*_DATA)["packages"]
_NAMED: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (row["component"], row["basis"], pattern) for row, pattern in rows(*_DATA)
)
_PINNED = re.compile(
    rf"(?:^|[\s\"',])(?P<package>{'|'.join(_PACKAGES)})(?:==|\s+=\s+|\s{{2,40}}|@){_V}",
    re.IGNORECASE,
)


class VersionParser(
    LineParser,
    name="versions",
    needles=(
        *needles("versions"),
        *(f"{package}==" for package in _PACKAGES),
        *(f"{package}  " for package in _PACKAGES),
    ),
):
    """Parser of stated versions; each is said once for an artifact."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def feed(self, line: Line) -> Iterator[Event]:
        """Say the versions of this line that were not said before."""
        for component, basis, pattern in _NAMED:
            match = pattern.search(line.text)
            if match is not None:
                yield from self._say(line, component, match["version"], basis)
        for match in _PINNED.finditer(line.text):
            yield from self._say(line, match["package"].lower(), match["version"], "package list")

    def _say(self, line: Line, component: str, version: str, basis: str) -> Iterator[Event]:
        version = version.rstrip(".,-+")
        if (component, version) not in self._said:
            self._said.add((component, version))
            yield VersionSeen(**place(line), component=component, version=version, basis=basis)
