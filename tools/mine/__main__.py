"""`python -m mine --cache DIR --out FILE NAME==RELEASE…`: list the texts of released packages.

Wheels are fetched one at a time by pip, read without being installed, and deleted. The list is for
people to review; what they accept stands in `settings/data/printed_texts.json`. With `--check` the
rows of that file are looked up in the list instead, and those that no release has are named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from mine.texts import read_wheel

TABLE = Path(__file__).parents[2] / "src/unhang/settings/data/printed_texts.json"
_LARGEST = 200_000_000


def main() -> int:
    """Write one line of JSON for each text; return 1 where a package could not be read."""
    options = argparse.ArgumentParser(prog="mine", description=__doc__)
    options.add_argument("packages", nargs="*", metavar="NAME[==RELEASE]")
    options.add_argument("--cache", type=Path, required=True, help="where a wheel lies meanwhile")
    options.add_argument("--out", type=Path, required=True, help="the list, as lines of JSON")
    options.add_argument("--check", action="store_true", help="look up the reviewed rows in it")
    given = options.parse_args()
    if given.check:
        return _check(given.out)
    failed = [p for p in given.packages if not _add(p, given.cache, given.out)]
    for package in failed:
        print(f"{package}: no wheel could be read", file=sys.stderr)
    return 1 if failed else 0


def _add(package: str, cache: Path, out: Path) -> bool:
    """Fetch one wheel, append its texts to the list, delete it."""
    folder = cache / package.replace("=", "-")
    folder.mkdir(parents=True, exist_ok=True)
    command = ("download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder))
    done = subprocess.run([sys.executable, "-m", "pip", *command, package], check=False)
    wheels = list(folder.glob("*.whl"))
    count = 0
    for wheel in wheels:
        if done.returncode == 0 and wheel.stat().st_size <= _LARGEST:
            name, release = wheel.name.split("-")[:2]
            with out.open("a", encoding="utf-8") as lines:
                for text in read_wheel(wheel):
                    count += 1
                    row = {"package": name, "release": release, **asdict(text)}
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        wheel.unlink()
    folder.rmdir()
    print(f"{package}: {count} texts")
    return count > 0


def _check(listed: Path) -> int:
    """Name the reviewed rows that stand in no release of the list."""
    rows = [json.loads(line) for line in listed.read_text(encoding="utf-8").splitlines()]
    known: dict[str, list[str]] = {}
    for row in rows:
        known.setdefault(row["package"], []).append(row["text"])
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    # Long texts are kept by their beginning.
    missing = [
        r
        for r in table["texts"]
        if not any(text.startswith(r["text"]) for text in known.get(r["package"], ()))
    ]
    for row in missing:
        print(f"{row['package']}: {row['text']!r} is not in the list")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
