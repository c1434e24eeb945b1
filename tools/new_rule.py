"""Write the files of a new rule: `python tools/new_rule.py DSY009 what-is-observed --cause desync`.

What it writes imports, type-checks and fails its test: the rule finds nothing until it is written.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from unhang.model.causes import Cause

ROOT = Path(__file__).parents[1]
FAMILIES = {
    "LOC": "locate",
    "DSY": "desync",
    "CRA": "crash",
    "SLO": "slow",
    "NET": "network",
    "DEV": "device",
    "CFG": "config",
}

RULE = '''"""{title}.

## What it finds
One sentence: the condition, in terms of the facts of the incident.

## Why it hangs
Why the other ranks wait, or why the job ends.

## When it stays quiet
The look-alikes, and what tells them apart.

## How to confirm
What to look at, or to run, that would decide.

## What to do
The cure first, then the way around it.

## References
Where the message is printed: project, file, versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.causes import Cause
from unhang.model.finding import Finding, Strength
from unhang.model.incident import Incident
from unhang.model.provenance import say
from unhang.model.rule import Fact, Status, rule


@rule(
    "{code}",
    "{name}",
    cause=Cause.{cause},
    needs={{Fact.EXITS}},
    since="{version}",
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding per failed rank."""
    for failure in incident.own_failures:
        if failure.rank is None:
            continue
        yield Finding(
            rule=check.code,
            cause=Cause.{cause},
            strength=Strength.HINTS,
            claim=say("{code}.claim", "{{ranks:ranks}} …", ranks=frozenset({{failure.rank}})),
            why=say("{code}.why", "…"),
            culprits=frozenset({{failure.rank}}),
            evidence=(failure.source,),
        )

'''

TEST = '''"""{code}: {title}."""

from builders import ended, incident

from unhang.rules.{family}.{module} import check


def test_it_fires() -> None:
    (finding,) = check(incident(ended(3, exit_code=1)))
    assert finding.culprits == frozenset({{3}})


def test_a_near_miss_stays_quiet() -> None:
    assert not list(check(incident()))
'''

REST = """
src/unhang/reporters/catalogue/zh/{family}.toml:
    [{code}]
    claim = "{{ranks:ranks}} …"
    why = "…"
Then: make check, make docs, make score."""


def main(arguments: list[str]) -> int:
    """Write the two files, and print what is left to do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("code", help="family and number, such as DSY009")
    parser.add_argument("name", help="the observed condition in kebab-case")
    parser.add_argument("--cause", required=True, choices=[cause.value for cause in Cause])
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not re.fullmatch(rf"({'|'.join(FAMILIES)})\d{{3}}", options.code):
        parser.error(f"{options.code}: a code is one of {', '.join(FAMILIES)} and three digits")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", options.name):
        parser.error(f"{options.name}: a name is words in lower case joined by hyphens")
    fields = _fields(options.code, options.name, options.cause)
    files = {
        options.root / "src/unhang/rules/{family}/{module}.py".format(**fields): RULE,
        options.root / "tests/unit/rules/{family}/test_{module}.py".format(**fields): TEST,
    }
    for path in files:
        if path.exists():
            parser.error(f"{path} exists")
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.format(**fields), encoding="utf-8")
        print(f"wrote {path}")
    print(REST.format(**fields))
    return 0


def _fields(code: str, name: str, cause: str) -> dict[str, str]:
    from unhang import __version__

    return {
        "code": code,
        "name": name,
        "title": name.replace("-", " ").capitalize(),
        "module": name.replace("-", "_"),
        "family": FAMILIES[code[:3]],
        "cause": cause.upper(),
        "version": __version__,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
