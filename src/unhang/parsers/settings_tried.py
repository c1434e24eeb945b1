"""From runs of one command with and without a setting, and words on them, to `SettingTried`.

Reads::

    $ torchrun --nproc_per_node=2 ar.py
    …
    ^C
    $ NCCL_P2P_DISABLE=1 torchrun --nproc_per_node=2 ar.py
    rank 0: all_reduce done
    - NCCL_P2P_DISABLE=1 python serve.py : starts and serves, no hang
    # default: hangs 5 runs of 10; NCCL_LAUNCH_ORDER_IMPLICIT=1: no hang in 10 runs

Which settings tell what stands in `settings/data/trials.toml`. A bar that comes farther than that
of the run that was stuck is a result, too. Traps: advice (`try …`, `set … if`), questions, and
words that it did not help; a run without any sign of success tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.model.events import Event, SettingTried
from unhang.model.forms import named
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary import bars
from unhang.settings.trials import trials
from unhang.sources.line import Line

_NAMES = "|".join(sorted(map(re.escape, trials()), key=len, reverse=True))
_SETTING = re.compile(rf"(?<![\w-])(?P<name>{_NAMES})\s?=\s?(?P<value>[^\s,;:)'\"`]{{1,60}})")
_PATTERNS = named("unhang.parsers", "data/settings_tried.toml")
_PROMPT = _PATTERNS["prompt"]
_CURED = _PATTERNS["cured"]
_NOT_SAID = _PATTERNS["not_said"]
_STUCK = _PATTERNS["stuck"]
_DONE = re.compile(r"\b(?:done|ok|success\w*|finished|completed?|passed)\b", re.IGNORECASE)
_BROKEN = re.compile(r"^\s*\^C|Traceback \(most|\bError\b|\bfailed\b|timed? out", re.IGNORECASE)
_ASIDE = re.compile(
    r"^timeout (?:-\S+ )*\d+[smhd]? |\s?(?:[|]|\d?>|#\s).*| --?tag-output\b"
    r"|\s(?:-x|-e|-env|--env|--export)[ =](?:[A-Za-z_]\w*=\S*|[A-Z_]\w*\b)"
)
"""What tells no command from another: its limit, who reads its output, what it hands on."""
_KEPT = re.compile(r"export\s|unset\s+(?P<unset>\w+)")
"""What the shell keeps for all later commands."""
_LONGEST = 240
_FARTHER = 3
"""Items by which a bar comes farther: the first may pass before anything can get stuck."""


@dataclass(slots=True)
class _Run:
    """One command and how it went."""

    line: Line
    command: str
    settings: frozenset[tuple[str, str]]
    stuck: bool = False
    done: bool = False
    broken: bool = False
    items: int = 0

    def outdid(self, stuck: _Run) -> bool:
        """Whether it came to a result, or clearly farther than a run that was stuck."""
        return self.done or self.items >= stuck.items + _FARTHER


class SettingsTriedParser(
    LineParser,
    name="settings-tried",
    needles=(*(f"{name}=" for name in trials()), "^C", "$ ", "]# ", "~# ", "root@"),
    after=40,
):
    """Parser of runs with and without a setting."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._exported: dict[str, str] = {}

    def feed(self, line: Line) -> Iterator[Event]:
        """Follow the runs, and say what words say."""
        if len(line.text) > _LONGEST * 2:
            return
        prompt = _PROMPT.match(line.raw[: _LONGEST * 2])
        said = _CURED.search(line.text) if len(line.text) <= _LONGEST else None
        if said is not None and _NOT_SAID.search(line.text) is None:
            settings = [m for m in _SETTING.finditer(line.text) if m.end() <= said.start()]
            for match in settings[-1:]:
                yield from _tried(line, match["name"], match["value"], measured=False)
        elif prompt is not None:
            yield from self._close()
            given = f"{prompt['env']} {prompt['command']}"
            told = {m["name"]: m["value"] for m in _SETTING.finditer(given)}
            if (kept := _KEPT.match(prompt["command"])) is not None:
                self._exported.pop(kept["unset"] or "", None)
                self._exported.update(told)
                return
            told = self._exported | told
            command = _ASIDE.sub("", " ".join(prompt["command"].split()))
            self._runs.append(_Run(line=line, command=command, settings=frozenset(told.items())))
        elif self._runs:
            run = self._runs[-1]
            # Words after a result are on both runs, or on the one before.
            run.stuck = run.stuck or (not run.done and _STUCK.search(line.text) is not None)
            # NCCL's `Init COMPLETE` is the beginning of a run, not its result.
            result = "NCCL INFO" not in line.text and _DONE.search(line.text) is not None
            run.done = run.done or result
            run.broken = run.broken or _BROKEN.search(line.text) is not None
            for bar in bars.BAR.finditer(line.text):
                if bar["done"].isdigit():
                    run.items = max(run.items, int(bar["done"]))

    def finish(self) -> Iterator[Event]:
        """Say what the last run shows."""
        yield from self._close()

    def _close(self) -> Iterator[Event]:
        """Compare the run that has ended with those of the same command before it."""
        run = self._runs[-1] if self._runs else None
        if run is None or run.stuck or run.broken:
            return
        for before in self._runs[:-1]:
            more = run.settings - before.settings
            alike = before.stuck and before.command == run.command and len(more) == 1
            if alike and run.outdid(before):
                ((name, value),) = more
                yield from _tried(run.line, name, value, measured=True)
                return


def _tried(line: Line, name: str, value: str, *, measured: bool) -> Iterator[SettingTried]:
    if trials()[name].value.fullmatch(value) is not None:
        yield SettingTried(**place(line), name=name, value=value, measured=measured)
