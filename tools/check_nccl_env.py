"""Check the table of NCCL variables against a real libnccl.so.

    python tools/check_nccl_env.py [libnccl.so.2]

Without an argument the library that the installed PyTorch brought along is looked for. Prints the
names that the table and the binary disagree on, and exits with 1 where there are any. How a name is
found in a binary is told in `unhang.settings.binary`.

Names that only NCCL's example plugins read are left out. A name that the binary holds and the table
does not know may be a word of a message: read the source of the release before adding it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from unhang.settings.binary import NcclBinary, NotElf, find_nccl, read_nccl
from unhang.settings.tables import Library, variables

_GATED = frozenset({"NCCL_PROXY_PROFILE"})
"""Behind a compile flag that distributed builds do not set."""


def disagreements(binary: NcclBinary, version: str) -> tuple[list[str], list[str]]:
    """Names that the table alone has for this release, and those that the binary alone has."""
    missing, unexpected = [], []
    for name, setting in variables(Library.NCCL).items():
        if setting.reader is not None or name in _GATED or not name.startswith("NCCL_"):
            continue
        present, expected = binary.reads(name), setting.known_in(version)
        if expected and not present:
            missing.append(name)
        elif present and not expected:
            unexpected.append(name)
    return missing, unexpected


def main(arguments: list[str]) -> int:
    """Compare, print, and return the exit code."""
    path = Path(arguments[0]) if arguments else find_nccl()
    if path is None:
        print("no libnccl found beside PyTorch: name one")
        return 2
    try:
        binary = read_nccl(path)
    except (OSError, NotElf) as error:
        print(f"{path}: {error}")
        return 2
    version = binary.version
    if version is None:
        print(f"{path}: it does not say its version")
        return 2
    missing, unexpected = disagreements(binary, version)
    unknown = sorted(binary.names() - variables(Library.NCCL).keys())
    print(f"{path}: NCCL {version}, {len(variables(Library.NCCL))} rows")
    print(f"in the table, not in the binary: {', '.join(missing) or 'none'}")
    print(f"in the binary, not in the table for this release: {', '.join(unexpected) or 'none'}")
    print(f"unknown to the table: {', '.join(unknown) or 'none'}")
    return 1 if missing or unexpected else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
