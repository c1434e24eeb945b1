"""Write what a release is made of: `python tools/sbom.py > unhang.cdx.json` (CycloneDX 1.6).

The packages are those that are installed here and that the core, or an extra, requires; their
metadata is all that is read.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

NAME = "unhang"


def sbom(extras: Iterable[str] = ()) -> dict[str, object]:
    """Return the bill of materials, in the same order each time.

    Args:
        extras: of the project, whose requirements count, too.

    Raises:
        PackageNotFoundError: the project itself is not installed.
    """
    own = distribution(NAME)
    found: dict[str, Distribution] = {}
    edges: dict[str, set[str]] = {}
    left = [(own, frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while left:
        package, wanted = left.pop()
        name = _key(package.metadata["Name"])
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found[name] = package
        edges.setdefault(name, set())
        for requirement in _required(package, wanted):
            try:
                child = distribution(requirement.name)
            except PackageNotFoundError:
                print(f"{requirement.name} is not installed: left out", file=sys.stderr)
                continue
            edges[name].add(_key(requirement.name))
            left.append((child, frozenset(requirement.extras)))
    own_key = _key(NAME)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(own, "application")},
        "components": [
            _component(found[name], "library") for name in sorted(found) if name != own_key
        ],
        "dependencies": [
            {"ref": _url(found[name]), "dependsOn": sorted(_url(found[one]) for one in edges[name])}
            for name in sorted(edges)
        ],
    }


def _required(package: Distribution, extras: frozenset[str]) -> list[Requirement]:
    """What it needs in this Python and on this system."""
    told = [Requirement(line) for line in package.requires or ()]
    return [
        one
        for one in told
        if one.marker is None
        or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def _component(package: Distribution, kind: str) -> dict[str, object]:
    told: dict[str, object] = {
        "type": kind,
        "bom-ref": _url(package),
        "name": package.metadata["Name"],
        "version": package.version,
        "purl": _url(package),
    }
    if "License-Expression" in package.metadata:
        told["licenses"] = [{"expression": package.metadata["License-Expression"]}]
    return told


def _url(package: Distribution) -> str:
    return f"pkg:pypi/{_key(package.metadata['Name'])}@{package.version}"


def _key(name: str) -> str:
    """A name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print(json.dumps(sbom(sys.argv[1:]), indent=1))
