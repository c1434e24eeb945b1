"""`python -m knobs --cache DIR [NAME…]`: read released packages, write the knob rows.

Each framework's data file names its packages with the releases to read (`packages`) and how they
declare settings (`read`); what a release inherits from another package is read there (`package`,
with the release that stands in `beside`). Of every row in `knobs` the tool fills `type`, `choices`
and `releases`: default, file and line in each release, or null where the release lacks the key.
What people wrote into a row (`about`, `smaller`, `needs`, `why`, …) stays. Rows that no release has
keep their `why`. Each entry of `accepts` gets the names of all settings below its key, by the
releases that have them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from knobs.readers import Read, read
from knobs.releases import MissingRelease, unpacked
from knobs.writing import write

DATA = Path(__file__).parents[2] / "src/unhang/settings/data/frameworks"


def main() -> int:
    """Write the rows of the named frameworks, or of all; say which rows no release has."""
    arguments = argparse.ArgumentParser(prog="knobs", description=__doc__)
    arguments.add_argument("names", nargs="*", help="frameworks; default: all with packages")
    arguments.add_argument("--cache", type=Path, required=True, help="where packages are kept")
    arguments.add_argument("--check", action="store_true", help="write nothing; 1 if rows differ")
    given = arguments.parse_args()
    differs = False
    for path in sorted(DATA.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        row = json.loads(text)
        if not row.get("read") or (given.names and row["name"] not in given.names):
            continue
        unread = _fill(row, given.cache)
        _accept(row, given.cache)
        new = write(row)
        print(f"{row['name']}: {len(row['knobs'])} rows, {len(unread)} by hand")
        for key in unread:
            print(f"  by hand: {key}")
        differs = differs or new != text
        if not given.check:
            path.write_text(new, encoding="utf-8")
    return int(differs and given.check)


def _fill(row: dict[str, Any], cache: Path) -> list[str]:
    """Fill the rows of one framework; return the keys that no release has."""
    releases = _releases(row, row["read"], cache)
    unread = []
    for knob in row["knobs"]:
        before = knob.get("releases", {})
        found = {
            release: settings.get(knob["key"])
            for release, settings in releases.items()
            if settings is not None
        }
        newest = next((r for r in found.values() if r is not None), None)
        for name in ("type", "choices", "releases"):
            knob.pop(name, None)
        if newest is None:
            unread.append(knob["key"])
            continue
        knob["type"] = newest.type
        if newest.choices:
            knob["choices"] = list(newest.choices)
        knob["releases"] = {
            release: None if r is None else [r.default, r.place] for release, r in found.items()
        } | {release: before[release] for release in releases.keys() - found if release in before}
        knob["releases"] = {r: knob["releases"][r] for r in releases if r in knob["releases"]}
    return unread


def _releases(
    row: Mapping[str, Any], sources: list[Mapping[str, Any]], cache: Path
) -> dict[str, dict[str, Read] | None]:
    """The settings of each release, the newest first; None where it cannot be had or read."""
    return {
        release: _release(row, package, release, sources, cache)
        for package, numbers in row["packages"].items()
        for release in numbers
    }


def _release(
    row: Mapping[str, Any],
    package: str,
    release: str,
    sources: list[Mapping[str, Any]],
    cache: Path,
) -> dict[str, Read] | None:
    wanted = {package: release, **row.get("beside", {}).get(release, {})}
    why = "it declares nothing where `read` looks"
    try:
        roots = {name: unpacked(cache, name, number) for name, number in wanted.items()}
        if found := _settings(package, roots, sources):
            return found
    except MissingRelease as missing:
        why = str(missing)
    print(f"{row['name']} {release} stays as it was: {why}", file=sys.stderr)
    return None


def _accept(row: dict[str, Any], cache: Path) -> None:
    """Fill the names that each part of a framework's own file takes."""
    for part in row.get("accepts", ()):
        before = part.get("keys", {})
        having: dict[str, list[str]] = {}
        releases = _releases(row, part["read"], cache)
        for release, settings in releases.items():
            old = [k for rs, keys in before.items() if release in rs.split() for k in keys.split()]
            for key in old if settings is None else settings:
                having.setdefault(key, []).append(release)
        names: dict[str, list[str]] = {}
        for key in sorted({*having, *part.get("also", ())}):
            told = having.get(key) or list(releases)
            names.setdefault(" ".join(told), []).append(key)
        part["keys"] = {releases: " ".join(found) for releases, found in sorted(names.items())}


def _settings(
    own: str, roots: Mapping[str, Path], sources: list[Mapping[str, Any]]
) -> dict[str, Read]:
    """The settings of one release; of a key that is declared twice, the first source counts."""
    found: dict[str, Read] = {}
    for source in sources:
        root = roots.get(source.get("package", own))
        for setting in () if root is None else read(root, source):
            found.setdefault(setting.key, setting)
    return found


if __name__ == "__main__":
    sys.exit(main())
