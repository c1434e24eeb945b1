"""Write the files of something new, with tests: `python tools/new.py rule|parser|event …`.

What it writes passes lint, types and its own tests, and reads "to fill" where it must be filled;
one test of the project stays red until it is.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import re
import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

from unhang import __version__
from unhang.model import events
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
EVENTS = {kind.__name__: kind for kind in typing.get_args(events.Event)}
ROLES = ("ALARM", "FAULT", "REPORT")
"""Roles whose unions are open to a new kind of event without more ado."""
GIVEN = ("source", "origin", "at")
"""Fields that every event has."""

RULE = '''"""{title} (to fill: one sentence).

## What it finds
To fill: the condition, in terms of the facts of the incident.

## Why it hangs
To fill: why the other ranks wait, or why the job ends.

## When it stays quiet
To fill: the look-alikes, and what tells them apart.

## How to confirm
To fill: what to look at, or to run, that would decide.

## What to do
To fill: the cure first, then the way around it.

## References
To fill: where the message is printed: project, file, versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.events import {event}
from unhang.model.rule import {names}
from unhang.rules.shared import rivals, speakers


@rule(
    "{code}",
    "{name}",{cause}
    needs={{Fact.{fact}}},
    since="{version}",
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all that was seen (to fill: what else must hold)."""
    found = speakers.in_order(incident.all({event}))
    if not found:
        return
    ranks = speakers.minority(incident, found)
    yield check.finding(
        Strength.SUPPORTS,
        rival=rivals.of_errors(incident, found),
        claim=say("{code}.claim", "{{ranks:ranks}} … (to fill)", ranks=ranks),
        why=say("{code}.why", "… (to fill)"),
        culprits=ranks,
        at=found[0].at,
        evidence=found,
    )
'''

RULE_TEST = '''"""{code}: {title}."""

{imports}


def seen(rank: int) -> {event}:
    """What a rank printed (to fill: the fields that matter)."""
    return {event}(
        source=source(),
        origin=by(rank),{fields}
    )


def test_it_fires() -> None:
    (finding,) = check(incident(seen(3)))
    assert finding.culprits == frozenset({{Rank(3)}})


def test_a_near_miss_stays_quiet() -> None:
    # to fill: the look-alike
    assert not list(check(incident()))
'''

PARSER = '''"""{title} (to fill: from which lines to what).

Reads (to fill: project and versions)::

    {needle} to fill

Traps: to fill: what looks alike and is not, what the line does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from unhang.model.events import {imports}
from unhang.parsers.base import LineParser, place
from unhang.sources.line import Line

_LINE = re.compile(r"{needle} (?P<detail>.*)")


class {kind}(LineParser, name="{name}", needles=("{needle} ",)):
    """Parser of {words} (to fill)."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say what a line tells."""
        if {match}_LINE.search(line.text):
            yield {event}(
                **place(line),{fields}
            )
'''

PARSER_TEST = '''"""{title}."""

{imports}

LINE = "{needle} to fill"


def test_a_line_is_read() -> None:
    assert only({event}, feed({kind}, LINE)).source.line == 1


def test_what_looks_alike_is_left_aside() -> None:
    # to fill: a quotation, a cut line, a line of another project
    assert feed({kind}, "the {needle}") == []
'''

EVENT = '''

@dataclass(frozen=True, slots=True, kw_only=True)
class {kind}(Seen, fact=Fact.{fact}, witness=Witness.PROCESS, role=Role.{role}):
    """To fill: what is seen, as one noun.

    Attributes:
        detail: to fill.
    """

    detail: str
'''


def main(arguments: list[str]) -> int:
    """Write the files, and print what they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    kinds = parser.add_subparsers(dest="kind", required=True)
    rule = kinds.add_parser("rule", help="a rule, its test, its place in the translations")
    rule.add_argument("code", help="family and number, such as DSY015")
    rule.add_argument("name", help="the observed condition in kebab-case")
    rule.add_argument("--cause", choices=[cause.value for cause in Cause], help="not for LOC rules")
    rule.add_argument("--event", choices=sorted(EVENTS), default="ProcessEnded", help="it reads")
    reader = kinds.add_parser("parser", help="a parser and its test")
    reader.add_argument("name", help="the format in kebab-case")
    reader.add_argument("--event", choices=sorted(EVENTS), default="Finished", help="it says")
    event = kinds.add_parser("event", help="an event, with what `explain` says of it")
    event.add_argument("name", help="what is seen, in CamelCase")
    event.add_argument("--home", default="communication", help="the module of model/events")
    event.add_argument("--fact", choices=[f.name for f in events.Fact], default="NCCL_WARNINGS")
    event.add_argument("--role", choices=ROLES, default="FAULT", help="in the course of the job")
    options = parser.parse_args(arguments)
    try:
        files = {"rule": _rule, "parser": _parser, "event": _event}[options.kind](options)
    except ValueError as error:
        parser.error(str(error))
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(options.root)}")
    code = [str(path) for path in files if path.suffix == ".py"]
    for command in (["check", "--fix-only", "--select", "I,RUF022"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, "--quiet", *code], check=True)
    print('Fill what says "to fill"; then make check, make docs, make score.')
    return 0


def _rule(options: argparse.Namespace) -> dict[Path, str]:
    root, code, name = options.root, options.code, options.name
    if not re.fullmatch(rf"({'|'.join(FAMILIES)})\d{{3}}", code):
        raise ValueError(f"{code}: a code is one of {', '.join(FAMILIES)} and three digits")
    _check_name(name)
    family, module = FAMILIES[code[:3]], name.replace("-", "_")
    if (family == "locate") is (options.cause is not None):
        raise ValueError("a LOC rule says who and where, every other one names its --cause")
    if any(f'"{code}"' in path.read_text("utf-8") for path in root.glob("src/unhang/rules/*/*.py")):
        raise ValueError(f"{code} exists")
    event = EVENTS[options.event]
    fact = event.fact
    if fact is None:
        raise ValueError(f"a rule needs a fact, and {options.event} shows none")
    names = {"Fact", "Finding", "Incident", "Status", "Strength", "rule", "say"}
    imports = {
        ("support.builders", "by"),
        ("support.builders", "incident"),
        ("support.builders", "source"),
        ("unhang.model.events", event.__name__),
        ("unhang.model.ids", "Rank"),
        (f"unhang.rules.{family}.{module}", "check"),
    }
    fields = _fields(event, imports, '"to fill"')
    values = {
        "code": code,
        "name": name,
        "title": name.replace("-", " ").capitalize(),
        "cause": f"\n    cause=Cause.{options.cause.upper()}," if options.cause else "",
        "names": ", ".join(sorted(names | ({"Cause"} if options.cause else set()))),
        "event": event.__name__,
        "fact": fact.name,
        "version": __version__,
        "fields": fields,
        "imports": _lines(imports),
    }
    files = _fresh(
        {
            root / f"src/unhang/rules/{family}/{module}.py": RULE.format(**values),
            root / f"tests/unit/rules/{family}/test_{module}.py": RULE_TEST.format(**values),
        }
    )
    for path in root.glob(f"src/unhang/reporters/catalogue/*/{family}.toml"):
        table = f'[{code}]\nclaim = "{{ranks:ranks}} … (to fill)"\nwhy = "… (to fill)"\n'
        files[path] = _with_table(path.read_text("utf-8"), code, table)
    return files


def _parser(options: argparse.Namespace) -> dict[Path, str]:
    root, name = options.root, options.name
    _check_name(name)
    module, event = name.replace("-", "_"), EVENTS[options.event]
    kind = "".join(word.capitalize() for word in name.split("-")) + "Parser"
    imports = {
        ("support.feeding", "feed"),
        ("support.feeding", "only"),
        ("unhang.model.events", event.__name__),
        (f"unhang.parsers.{module}", kind),
    }
    own: set[tuple[str, str]] = set()
    values = {
        "title": name.replace("-", " ").capitalize(),
        "words": name.replace("-", " "),
        "name": name,
        "kind": kind,
        "needle": f"{name}:",
        "event": event.__name__,
        "fields": (fields := _fields(event, own, 'match["detail"]')),
        "match": "match := " if "match" in fields else "",
    }
    from_events = {n for home, n in own if home == "unhang.model.events"}
    more = "".join(
        f"\n{line}"
        for line in _lines({i for i in own if i[0] != "unhang.model.events"}).splitlines()
    )
    names = ", ".join(sorted({"Event", event.__name__} | from_events))
    return _fresh(
        {
            root / f"src/unhang/parsers/{module}.py": PARSER.format(**values, imports=names + more),
            root / f"tests/unit/parsers/test_{module}.py": PARSER_TEST.format(
                **values, imports=_lines(imports)
            ),
        }
    )


def _event(options: argparse.Namespace) -> dict[Path, str]:
    root, name = options.root, options.name
    if not re.fullmatch(r"(?:[A-Z][a-z0-9]+)+", name):
        raise ValueError(f"{name}: a name of an event is in CamelCase")
    folder = root / "src/unhang/model/events"
    home, union = folder / f"{options.home}.py", folder / "__init__.py"
    if not home.exists():
        raise ValueError(f"{options.home}: model/events has no such module")
    listed = union.read_text("utf-8")
    if f'"{name}",' in listed:
        raise ValueError(f"{name} exists")
    first, union_of = "from unhang.model.events.", f"{options.role.capitalize()}: TypeAlias = "
    for before, after in (
        (first, f"{first}{options.home} import {name}\n{first}"),
        (f"{union_of}(", f"{union_of}({name} | "),
        ("__all__ = [", f'__all__ = [\n    "{name}",'),
    ):
        listed = listed.replace(before, after, 1)
    files = {
        home: home.read_text("utf-8")
        + EVENT.format(kind=name, fact=options.fact, role=options.role),
        union: listed,
    }
    for path in root.glob("src/unhang/reporters/catalogue/*/events.toml"):
        text = path.read_text("utf-8")
        for table, sentence in (("event", "… {detail} (to fill)"), ("means", "… (to fill)")):
            text = text.replace(f"[{table}]\n", f'[{table}]\n{name} = "{sentence}"\n', 1)
        files[path] = text
    return files


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise ValueError(f"{name}: a name is words in lower case joined by hyphens")


def _fresh(files: dict[Path, str]) -> dict[Path, str]:
    for path in files:
        if path.exists():
            raise ValueError(f"{path} exists")
    return files


def _with_table(text: str, name: str, table: str) -> str:
    """TOML with one table more, before the first one that sorts after it."""
    later = next((m for m in re.finditer(r"^\[(\w+)\]", text, re.MULTILINE) if m[1] > name), None)
    if later is None:
        return f"{text}\n{table}"
    return f"{text[: later.start()]}{table}\n{text[later.start() :]}"


def _lines(imports: set[tuple[str, str]]) -> str:
    homes = sorted({home for home, _ in imports})
    return "\n".join(
        f"from {home} import {', '.join(sorted(name for h, name in imports if h == home))}"
        for home in homes
    )


def _fields(kind: type, imports: set[tuple[str, str]], text: str) -> str:
    """Arguments for the fields that have no default; what they need is added to `imports`."""
    hints = typing.get_type_hints(kind)
    return "".join(
        f"\n        {field.name}={_sample(hints[field.name], imports, text)},"
        for field in dataclasses.fields(kind)
        if field.name not in GIVEN
        and field.default is dataclasses.MISSING
        and field.default_factory is dataclasses.MISSING
    )


def _sample(hint: Any, imports: set[tuple[str, str]], text: str) -> str:  # noqa: ANN401
    """The source of a plain value of a type."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return "None"
    if origin is not None:
        return f"{origin.__name__}()"
    if hint is str:
        return text
    if hint in (int, float, bool):
        return repr(hint())
    home = "unhang.model.events" if hasattr(events, hint.__name__) else hint.__module__
    imports.add((home, hint.__name__))
    if hasattr(hint, "__supertype__"):
        return f"{hint.__name__}({_sample(hint.__supertype__, imports, text)})"
    if issubclass(hint, enum.Enum):
        return f"{hint.__name__}.{next(iter(hint)).name}"
    return f"{hint.__name__}({_fields(hint, imports, text)})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
