"""Shows failures of others in the logs of healthy jobs, in many ways, and reports convictions.

Each way of `quotations.txt` is a template; each text of `metamorphic.quotes` is put into it, at the
beginning, in the middle and at the end of the log of a job that ended well or is at work, or into a
file beside. `python -m fuzz.quoted` prints which convict.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import unhang
from metamorphic.quotes import GENUINE, Lines, step

_FILE = Path(__file__).with_name("quotations.txt")
PLACES = ("start", "middle", "end", "still running", "beside")


def templates(path: Path = _FILE) -> dict[str, Lines]:
    """The ways of showing, by name."""
    found: dict[str, Lines] = {}
    lines: Lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("===== "):
            lines = found[line[6:]] = []
        else:
            lines.append(line)
    return found


def show(template: Lines, text: Lines) -> Lines:
    """A text as a template shows it."""
    whole = "\n".join(text)
    shown: Lines = []
    for line in template:
        form = line.replace("¶j", json.dumps(whole)[1:-1]).replace("¶r", repr(whole))
        form = form.replace("¶1", text[0])
        if any(sign in form for sign in ("§", "¶h", "¶q")):
            shown.extend(
                form.replace("§", one)
                .replace("¶h", html.escape(one, quote=False))
                .replace("¶q", json.dumps(one)[1:-1])
                for one in text
            )
        else:
            shown.append(form)
    return shown


@dataclass(frozen=True, slots=True)
class Shown:
    """A healthy job that shows a failure of another.

    Attributes:
        way: the template.
        text: which failure.
        place: where, of `PLACES`.
        dated: its own lines have a date.
        files: its log, and the file beside, by name.
    """

    way: str
    text: str
    place: str
    dated: bool
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        """All that it is."""
        return f"{self.way} | {self.text} | {self.place} | {'dated' if self.dated else 'bare'}"


def shown(
    ways: Mapping[str, Lines] | None = None, texts: Mapping[str, Lines] = GENUINE
) -> Iterator[Shown]:
    """All jobs, in one order."""
    for way, template in (templates() if ways is None else ways).items():
        for name, text in texts.items():
            inner = show(template, text)
            for place in PLACES:
                for dated in (True, False):
                    yield Shown(way, name, place, dated, _files(inner, place, dated=dated))


def _files(inner: Lines, place: str, *, dated: bool) -> Mapping[str, str]:
    work = [step(number, dated=dated) for number in range(1, 61)]
    done = ["2026-05-01 10:10:00,000 INFO Training complete" if dated else "Training complete"]
    if place == "beside":
        return {"job.log": _text([*work, *done]), "other.txt": _text(inner)}
    lines = {
        "start": [*inner, *work, *done],
        "middle": [*work[:40], *inner, *work[40:], *done],
        "end": [*work, *inner, *done],
        "still running": [*work, *inner],
    }[place]
    return {"job.log": _text(lines)}


def _text(lines: Lines) -> str:
    return "\n".join(lines) + "\n"


def convicts(job: Shown) -> str | None:
    """The verdict where it says that something failed; None where it does not."""
    with tempfile.TemporaryDirectory(prefix="unhang-quoted-") as folder:
        for name, text in job.files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        found = unhang.diagnose(folder)
    if found.outcome.value not in {"cause", "located"}:
        return None
    cause = "" if found.cause is None else f" {found.cause.value}"
    return f"{found.outcome.value}{cause} {sorted(map(int, found.culprits)) or ''}".strip()


def main() -> int:
    """Judge some of the jobs, or all, and return 1 where one is convicted."""
    parser = argparse.ArgumentParser(prog="fuzz.quoted", description=__doc__)
    parser.add_argument("--jobs", type=int, help="how many, chosen by --seed (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", help="only ways whose name begins like this")
    parser.add_argument("--place", choices=PLACES)
    parser.add_argument("--file", type=Path, default=_FILE, help="templates of your own")
    options = parser.parse_args()
    jobs = [
        job
        for job in shown(templates(options.file))
        if job.way.startswith(options.way or "") and options.place in (None, job.place)
    ]
    if options.jobs is not None:
        jobs = random.Random(options.seed).sample(jobs, min(options.jobs, len(jobs)))
    failed = 0
    for job in jobs:
        verdict = convicts(job)
        if verdict is not None:
            failed += 1
            sys.stdout.write(f"{job.name}: {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{failed} of {len(jobs)} convicted\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
