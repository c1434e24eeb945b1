"""Sets flags, overrides and variables in scripts, Dockerfiles and files of variables.

What a script says once is replaced; what it does not say is added to its one launch command, or
after its exports. Said twice, computed, or within a quoted program, it is left to its author. The
readers of `unhang lint` read the result again, and must see one setting changed and no other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import Command, ShellWord, read_commands
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.words import note_programs
from unhang.settings import family_of, frameworks

_RUNNERS = frozenset({"torchrun", "python", "python3"})
_SHELLS = frozenset({"sh", "bash", "zsh"})
_LONGEST_SHOWN = 40
_NOT_TRAINING = frozenset({"-c", "-V", "--version"})
_ASIDE = frozenset(
    {
        *("export", "declare", "local", "readonly", "set", "unset", "eval", "source", ".", "cd"),
        *("conda", "mamba", "micromamba", "module", "pip", "git", "mkdir", "rm", "cp", "mv", "ls"),
        *("cat", "echo", "printf", "which", "test", "[", "[[", "ulimit", "sleep", "wait", "trap"),
        *("pkill", "killall", "pgrep", "ps", "venv", "virtualenv"),
    }
)
"""Commands that start no training, whatever they name."""

_OVERRIDE = re.compile(r"(?:\+{0,2}|~)([A-Za-z_]\w*)[\w.]*=")
_ASSIGNED = re.compile(r"\w+\+?=.*", re.DOTALL)
_ARGUMENTS = frozenset({"$@", '"$@"', "${@}", '"${@}"', "$*"})
"""What the caller of the script adds: it comes last, and wins."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A setting as a script says it: the span to replace, and what stands in it."""

    start: int
    end: int
    value: str
    line: int


def set_flag(
    text: str,
    name: str,
    raw: str | None,
    framework: str,
    *,
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the script with `--name raw` (None: a flag without a value).

    Raises:
        Refusal: it is said more than once, or it is unknown to which command it belongs.
    """
    commands = read_commands(text)
    said = list(_flags(text, commands, name))
    flag = f"--{name}"
    words = flag if raw is None else f"{flag} {raw}"
    if not said:
        _refuse_opposite(text, commands, name)
        _refuse_own_program(text, _launch(text, commands, framework), framework, flag)
        return _proved(text, _append(text, commands, words, framework, newline), name)
    only = _only(said, flag)
    if raw is None or only.value.strip("\"'") == raw.strip("\"'"):
        return text
    return _proved(text, _put(text, only, raw, flag, guard), name)


def set_override(
    text: str,
    name: str,
    raw: str,
    framework: str,
    *,
    prefix: str = "",
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the script with Hydra's or OmegaConf's `name=raw`.

    Raises:
        Refusal: as `set_flag` does.
    """
    commands = read_commands(text)
    pattern = re.compile(rf"\+{{0,2}}{re.escape(name)}=(.*)", re.DOTALL)
    said = [
        _Said(word.start, word.end, match[1], _line(text, word.start))
        for word in _words(commands)
        if (match := pattern.fullmatch(word.bare)) is not None
    ]
    wanted = f"{prefix}{name}={raw}"
    if not said:
        _refuse_hidden(text, name, commands)
        _refuse_own_overrides(text, _launch(text, commands, framework), framework, name)
        return _proved(text, _append(text, commands, wanted, framework, newline), name)
    only = _only(said, name)
    if text[only.start : only.end].strip("\"'") == wanted.strip("\"'"):
        return text
    return _proved(text, _put(text, only, wanted, name, guard), name)


def set_variable(
    text: str,
    name: str,
    raw: str,
    *,
    beside: Sequence[str] = (),
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the script with `export name=raw`, and the lines that belong to it.

    Raises:
        Refusal: the variable is set more than once, or is computed.
    """
    commands = read_commands(text)
    said = list(_assignments(text, commands, name))
    launchers = _launchers() & {word.bare for word in _words(commands)}
    extra = [line for line in beside if line not in text and any(n in line for n in launchers)]
    if said:
        only = _only(said, name)
        changed = text
        if only.value.strip("\"'") != raw.strip("\"'"):
            changed = _put(text, only, raw, name, guard)
        if extra:
            at = changed.find("\n", only.start)
            end = len(changed) if at < 0 else at
            changed = (
                changed[:end].rstrip("\r")
                + "".join(newline + e for e in extra)
                + (f"{newline}{changed[end + 1 :]}" if at >= 0 else "")
            )
        return _proved(text, changed, name)
    _refuse_hidden(text, name, commands)
    lines = [f"export {name}={raw}", *extra]
    return _proved(text, _add_lines(text, commands, lines, newline), name)


def _words(commands: Sequence[Command]) -> Iterator[ShellWord]:
    for command in commands:
        yield from command.words


def _flags(text: str, commands: Sequence[Command], name: str) -> Iterator[_Said]:
    """Every place where a flag stands, as a word of its own or within a quoted list of flags."""
    spelled = "[-_]".join(re.escape(part) for part in re.split("[-_]", name))
    alone = re.compile(rf"--{spelled}(?:=(.*))?", re.DOTALL)
    inner = re.compile(rf"(?<![^\s\"'])--{spelled}(?:[= ]+([^\s\"']+))?(?=\s|$)")
    for command in commands:
        for index, word in enumerate(command.words):
            match = alone.fullmatch(word.bare)
            line = _line(text, word.start)
            if match is not None and match[1] is not None:
                start = word.start + word.text.index("=") + 1
                yield _Said(start, word.end, match[1], line)
            elif match is not None:
                value = command.words[index + 1] if index + 1 < len(command.words) else None
                if value is None or value.text.startswith("--"):
                    yield _Said(word.end, word.end, "", line)
                else:
                    yield _Said(value.start, value.end, value.text, line)
            elif word.bare is not word.text or '="' in word.text or "='" in word.text:
                for found in inner.finditer(word.text.rstrip("\"'")):
                    start, end = found.span(1) if found[1] is not None else (found.end(),) * 2
                    yield _Said(word.start + start, word.start + end, found[1] or "", line)


def _assignments(text: str, commands: Sequence[Command], name: str) -> Iterator[_Said]:
    pattern = re.compile(rf"(?:-[xe])?{re.escape(name)}=")
    for command in commands:
        for word in command.words:
            match = pattern.match(word.text)
            if match is not None:
                start = word.start + match.end()
                yield _Said(start, word.end, word.text[match.end() :], _line(text, start))


def _only(said: Sequence[_Said], name: str) -> _Said:
    if len(said) > 1:
        lines = ", ".join(str(s.line) for s in said)
        raise Refusal(
            f"`{name}` is set {len(said)} times (lines {lines}): the right one is unknown"
        )
    return said[0]


def _put(text: str, said: _Said, raw: str, name: str, guard: Guard) -> str:
    if "$" in said.value or "`" in said.value:
        raise Refusal(f"line {said.line} computes `{name}` ({said.value}): set it there to {raw}")
    guard(said.value)
    gap = " " if said.start == said.end else ""
    return f"{text[: said.start]}{gap}{raw}{text[said.end :]}"


def _refuse_opposite(text: str, commands: Sequence[Command], name: str) -> None:
    """A flag and its negation would contradict each other."""
    opposite = name.replace("no-", "", 1) if "no-" in name else None
    if opposite is not None and (said := list(_flags(text, commands, opposite))):
        raise Refusal(f"line {said[0].line} says `--{opposite}`: put `--{name}` in its place")
    _refuse_hidden(text, f"--{name}", commands)


def _refuse_hidden(text: str, name: str, commands: Sequence[Command]) -> None:
    """A name within a quoted program, or in a list of exports, is not for us to change."""
    hidden = re.compile(rf"(?<![\w.-]){re.escape(name)}\s*=")
    for word in _words(commands):
        if hidden.search(word.text) is not None:
            raise Refusal(f"line {_line(text, word.start)} holds `{name}` within quotes or a list")


def _append(
    text: str, commands: Sequence[Command], words: str, framework: str, newline: str
) -> str:
    """Add words at the end of the one command that starts the training."""
    command = _launch(text, commands, framework)
    last = [word for word in command.words if word.text not in _ARGUMENTS][-1]
    at = last.end
    head = text.rfind("\n", 0, command.start) + 1
    line = text.rfind("\n", 0, last.start) + 1
    if line <= head:
        return f"{text[:at]} {words}{text[at:]}"
    indent = text[line : len(text) - len(text[line:].lstrip(" \t"))]
    return f"{text[:at]} \\{newline}{indent}{words}{text[at:]}"


def _launch(text: str, commands: Sequence[Command], framework: str) -> Command:
    """The command that starts the training: the framework's own program, else a launcher."""
    groups: tuple[list[Command], list[Command]] = ([], [])
    for command in commands:
        programs, launched = _programs(text, command)
        if framework in programs:
            groups[0].append(command)
        elif launched:
            groups[1].append(command)
    found = next((group for group in groups if group), [])
    made = next(filter(None, map(_made, commands)), None)
    if made is not None and not groups[0]:
        shown = made.text if len(made.text) < _LONGEST_SHOWN else f"{made.text[:_LONGEST_SHOWN]}…"
        raise Refusal(
            f"line {_line(text, made.start)} runs a command that is put together as text"
            f" ({shown}): change it where that text is written"
        )
    if len(found) != 1:
        lines = ", ".join(str(_line(text, c.start)) for c in found)
        if not found:
            raise Refusal("no command in it starts a training")
        raise Refusal(f"{len(found)} commands start programs (lines {lines}): it is unknown which")
    _refuse_other_framework(text, found[0], framework)
    if any(" " in w.text and w.text[0] in "\"'" and _starts(w.bare) for w in found[0].words):
        line = _line(text, found[0].start)
        raise Refusal(f"line {line} starts the training within quotes")
    return found[0]


def _made(command: Command) -> ShellWord | None:
    """The text that a command runs as another command, where variables are in it."""
    words = command.words
    if words[0].bare == "eval" and len(words) > 1:
        return words[1]
    for before, option, text in zip(words, words[1:], words[2:], strict=False):
        if before.bare in _SHELLS and option.bare in ("-c", "-lc") and "$" in text.text:
            return text
    return None


def check_program(text: str, framework: str) -> None:
    """Refuse a script whose only program is another framework's.

    Raises:
        Refusal: with the line that starts it.
    """
    launched = [c for c in read_commands(text) if _programs(text, c)[1]]
    if len(launched) == 1:
        _refuse_other_framework(text, launched[0], framework)


def _refuse_own_program(text: str, command: Command, framework: str, flag: str) -> None:
    """A program that takes flags which a framework's own does not know is another one."""
    known = frameworks()
    parts = [p for p in (known[framework].accepts if framework in known else ()) if p.flags]
    given = _given(text, command, framework, flag)
    for word in given if parts else ():
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and not any(k.startswith(name) for p in parts for k in p.releases):
            raise Refusal(_another(text, command, f"--{name}", framework, flag))


def _refuse_own_overrides(text: str, command: Command, framework: str, name: str) -> None:
    """A program whose overrides lie in another tree than the framework's."""
    given = _given(text, command, framework, name)
    used = {match[1] for match in map(_OVERRIDE.match, given) if match is not None}
    family, root = family_of(framework), name.partition(".")[0]
    own = {key.partition(".")[0] for f in family for key in f.knobs}
    # Every job of the framework has them, on its command line or in the file that this names.
    basic = any(root in f.config_keys for f in family) and not any("config-" in w for w in given)
    if used - own and root not in used and (basic or used.isdisjoint(own)):
        raise Refusal(_another(text, command, min(used - own), framework, name))


def _given(text: str, command: Command, framework: str, name: str) -> list[str]:
    """What a command hands to the program that it starts.

    Raises:
        Refusal: nothing, to one that is not known as the framework's.
    """
    words = [word.bare for word in command.words]
    at = next((i for i, w in enumerate(words) if w.endswith((".py", ".sh")) or w == "-m"), None)
    if at is None:
        return []
    given = words[at + 1 + (words[at] == "-m") :]
    if not given and framework not in _programs(text, command)[0]:
        raise Refusal(
            f"line {_line(text, command.start)} starts its program without any argument: it is"
            f" unknown whether it reads `{name}`"
        )
    return given


def _another(text: str, command: Command, said: str, framework: str, wanted: str) -> str:
    return (
        f"line {_line(text, command.start)} starts a program with `{said}`, which {framework} does"
        f" not know: it may not take `{wanted}` either"
    )


def _refuse_other_framework(text: str, command: Command, framework: str) -> None:
    """Another framework's program does not know this one's settings."""
    others = sorted(_programs(text, command)[0] - _launchers())
    known = frameworks()
    word = known[framework].kin if framework in known else None
    kin = {framework, *(f.name for f in known.values() if word is not None and f.kin == word)}
    if others and kin.isdisjoint(others):
        line = _line(text, command.start)
        own = f": `unhang diagnose --framework {others[0]}` writes it for that"
        raise Refusal(
            f"line {line} starts {others[0]}, and the fix is for {framework}"
            f"{own if known[others[0]].recipes else ''}"
        )


def _programs(text: str, command: Command) -> tuple[set[str], bool]:
    """Frameworks that a command names, and whether it starts any program."""
    words = [word.bare.rpartition("/")[2] for word in command.words]
    module = words[words.index("-m") + 1 : words.index("-m") + 2] if "-m" in words else []
    if _ASIDE & {words[0], *module} or all(
        _ASSIGNED.fullmatch(word.text) for word in command.words
    ):
        return set(), False
    document = SettingsDocument(name="")
    note_programs(document, text[command.start : command.end])
    runs = not (_RUNNERS | _launchers()).isdisjoint(words) and _NOT_TRAINING.isdisjoint(words)
    return document.programs, runs or document.torchrun or len(document.programs) > 0


def _starts(text: str) -> bool:
    return any(re.search(rf"(?<!\S){name}\s", text) for name in _RUNNERS | _launchers())


@cache
def _launchers() -> frozenset[str]:
    """Frameworks whose program starts other frameworks' scripts."""
    return frozenset(f.name for f in frameworks().values() if f.launches)


def _add_lines(text: str, commands: Sequence[Command], lines: Sequence[str], newline: str) -> str:
    """Add exports after the last plain one, or before the first command that starts a program."""
    started = [(c, *_programs(text, c)) for c in commands]
    named = (c for c, programs, _ in started if programs)
    launch = next(named, next((c for c, _, runs in started if runs), None))
    before = [
        c
        for c in commands
        if c.words[0].text == "export"
        and text[: c.start].endswith(("", "\n")[c.start > 0])
        and (launch is None or c.end < launch.start)
    ]
    if before:
        at = text.find("\n", before[-1].end)
        at = len(text) if at < 0 else at
        end = at - 1 if text[:at].endswith("\r") else at
        return text[:end] + "".join(newline + line for line in lines) + text[end:]
    if launch is None:
        raise Refusal("it neither exports variables nor starts a program: nothing would read it")
    at = text.rfind("\n", 0, launch.start) + 1
    indent = text[at : launch.start]
    if indent.strip():
        raise Refusal(f"line {_line(text, launch.start)}: export it before this command by hand")
    return text[:at] + "".join(f"{indent}{line}{newline}" for line in lines) + text[at:]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _proved(before: str, after: str, name: str) -> str:
    """The new text, if the lint reads in it one setting changed and no other."""
    old, new = _settings(before), _settings(after)
    own = name.lstrip("+-").replace("-", "_")
    changed = (old - new) + (new - old)
    strange = [
        (setting, value)
        for setting, value in changed
        if setting.lstrip("+-").replace("-", "_") != own
        and own not in (value or "").replace("-", "_")  # ARGS="--own 1"
    ]
    if strange:
        raise Refusal(f"the place of `{name}` is too complex to change safely")
    return after


def _settings(text: str) -> Counter[tuple[str, str | None]]:
    document = SettingsDocument(name="")
    read_shell(document, text)
    return Counter((setting.name, setting.value) for setting in document.settings)
