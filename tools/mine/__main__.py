"""`python -m mine --cache DIR [NAME==RELEASE…]`: write the table of texts that show phases.

Every text that the released packages of `settings/data/printed_texts/` print, log or put on a
progress bar is listed and judged by `rules.toml`; what people judged one by one stands in
`reviewed.json` and outweighs the rules. Named releases are added to the table's packages. With
`--check` nothing is written: exit code 1 where the table is not what the releases yield, 0 with a
word where the cache lacks one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knobs.releases import unpacked
from mine import texts
from mine.table import TABLE, Found, read_table, write_table
from mine.texts import Text, read_folder


def main() -> int:
    """Write the table, or compare it."""
    options = argparse.ArgumentParser(prog="mine", description=__doc__)
    options.add_argument("packages", nargs="*", metavar="NAME==RELEASE")
    options.add_argument("--cache", type=Path, required=True, help="where packages are kept")
    options.add_argument("--check", action="store_true", help="write nothing; 1 if it differs")
    given = options.parse_args()
    packages = read_table()["packages"]
    for package in given.packages:
        name, _, release = package.partition("==")
        packages[name] = list(dict.fromkeys((*packages.get(name, ()), release)))
    if given.check and (lacking := _lacking(given.cache, packages)):
        print(f"not checked: {given.cache} lacks {len(lacking)} releases, such as {lacking[0]}")
        return 0
    found = [
        Found(name, release, text)
        for name in sorted(packages)
        for release in packages[name]
        for text in _listed(given.cache, name, release)
    ]
    table = write_table(packages, found)
    shown = Counter(
        " ".join(row[1].split()[:1]) for rows in table["texts"].values() for row in rows
    )
    print(f"{len(found)} texts of {len(packages)} packages; rows: {dict(shown)}")
    if given.check:
        return int(table != read_table())
    _write(table)
    return 0


def _lacking(cache: Path, packages: dict[str, list[str]]) -> list[str]:
    wanted = ((name, release) for name, releases in packages.items() for release in releases)
    return [
        f"{n}=={r}" for n, r in wanted if not (cache / "packages" / n / r / ".complete").exists()
    ]


def _listed(cache: Path, package: str, release: str) -> Iterable[Text]:
    """The texts of a release; kept, because neither a release nor the way of reading changes."""
    way = hashlib.sha256(Path(texts.__file__).read_bytes()).hexdigest()[:12]
    kept = cache / "texts" / way / f"{package}-{release}.json"
    if not kept.exists():
        rows = [asdict(text) for text in read_folder(unpacked(cache, package, release))]
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(rows), encoding="utf-8")
    return (Text(**row) for row in json.loads(kept.read_text(encoding="utf-8")))


def _write(table: dict[str, Any]) -> None:
    """One row a line, so that diffs are read."""
    rows = table.pop("texts")
    (TABLE / "index.json").write_text(
        json.dumps(table, ensure_ascii=False, indent=0) + "\n", encoding="utf-8"
    )
    for old in (TABLE / "packages").iterdir():
        old.unlink()
    for name, own in rows.items():
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in own)
        (TABLE / "packages" / f"{name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
