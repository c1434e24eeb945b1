"""Sets flags, overrides and variables in scripts, Dockerfiles and files of variables.

What a script says once is replaced; what it does not say is added to its one launch command, or
after its exports. Said twice, computed, or within a quoted program, it is left to its author. The
readers of `unhang lint` read the result again, and must see one setting changed and no other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_programs import (
    by_launcher,
    launch,
    launchers,
    line_at,
    made_of,
    programs_of,
    refuse_own_overrides,
    refuse_own_program,
    without_gpu,
)
from unhang.fixing.shell_values import ShellValues
from unhang.fixing.shell_words import Command, ShellWord, read_commands
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.shell import read_shell

_OVERRIDES = re.compile(r"\+{0,2}[a-z][\w.]*=")
_ASIDE = re.compile(
    r"eval|test|infer|decod|recogn|generat|predict|prepar|preproc|convert|merge|average"
)
"""Programs of a script that do not train, by the words in their names."""

_ARGUMENTS = frozenset({"$@", '"$@"', "${@}", '"${@}"', "$*"})
"""What the caller of the script adds: it comes last, and wins."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A setting as a script says it: the span to replace, and what stands in it."""

    start: int
    end: int
    value: str
    line: int
    names: tuple[str, ...] = ()
    """The variables by which it says so."""


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
        refuse_own_program(text, launch(text, commands, framework), framework, flag)
        return _proved(text, _append(text, commands, words, framework, newline), name)
    only = _origin(text, commands, _only(_of_training(text, commands, said), flag), flag)
    if raw is None or only.value.strip("\"'") == raw.strip("\"'"):
        return text
    return _proved(text, _put(text, only, raw, flag, guard), name, *only.names)


def _listed(text: str, commands: Sequence[Command], name: str) -> Iterator[_Said]:
    """Overrides within the text of a variable: `ARGS="a.b=1 c.d=2"`."""
    pattern = re.compile(rf"(?<![^\s\"'])\+{{0,2}}{re.escape(name)}=([^\s\"'\\]+)")
    for word in _words(commands):
        if '="' in word.text or "='" in word.text:
            for found in pattern.finditer(word.text):
                start, end = (word.start + at for at in found.span(1))
                yield _Said(start, end, found[1], line_at(text, start))


def takes_flags(text: str, name: str, framework: str) -> bool:
    """Whether a script hands a program its settings as flags, where both are taken.

    It says this one so already; or it says others so, and none as an override.
    """
    commands = read_commands(text)
    if any(_flags(text, commands, name)):
        return True
    started = [c for c in commands if framework in programs_of(text, c)[0]]
    words = [word.bare for command in started for word in command.words]
    flags = sum(word.startswith("--") for word in words)
    return flags > 1 and not any(_OVERRIDES.match(word) for word in words)


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
        _Said(word.start, word.end, match[1], line_at(text, word.start))
        for word in _words(commands)
        if (match := pattern.fullmatch(word.bare)) is not None
    ]
    if not said and len(listed := list(_listed(text, commands, name))) == 1:
        return _proved(text, _put(text, listed[0], raw, name, guard), name)
    wanted = f"{prefix}{name}={raw}"
    if len(said) == 1 and (held := _origin(text, commands, said[0], name)).names:
        return _proved(text, _put(text, held, raw, name, guard), name, *held.names)
    if not said:
        _refuse_hidden(text, name, commands)
        refuse_own_overrides(text, launch(text, commands, framework), framework, name)
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
    used = launchers() & {word.bare for word in _words(commands)}
    extra = [line for line in beside if line not in text and any(n in line for n in used)]
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
            line = line_at(text, word.start)
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
                yield _Said(start, word.end, word.text[match.end() :], line_at(text, start))


def _only(said: Sequence[_Said], name: str) -> _Said:
    if len(said) > 1:
        lines = ", ".join(str(s.line) for s in said)
        raise Refusal(
            f"`{name}` is set {len(said)} times (lines {lines}): the right one is unknown"
        )
    return said[0]


def _of_training(text: str, commands: Sequence[Command], said: Sequence[_Said]) -> Sequence[_Said]:
    """Of several places those in the command that trains: others prepare data, or evaluate."""

    def command_of(place: _Said) -> Command | None:
        return next((c for c in commands if c.start <= place.start <= c.end), None)

    if len(said) == 1:
        return said
    pairs = [(place, command_of(place)) for place in said]
    pairs = [(p, c) for p, c in pairs if c is not None and not _ASIDE.search(_program(c))] or pairs
    if len(pairs) > 1:
        pairs = [(p, c) for p, c in pairs if c is not None and by_launcher(text, c)] or pairs
    return [place for place, _ in pairs]


def _program(command: Command) -> str:
    """What a command starts, without the folders above it."""
    words = [word.bare for word in command.words]
    script = next((w for w in words if w.endswith((".py", ".sh"))), None)
    if script is None and "-m" in words[:-1]:
        script = words[words.index("-m") + 1]
    return (script or words[0]).rpartition("/")[2].lower()


def _origin(text: str, commands: Sequence[Command], said: _Said, flag: str) -> _Said:
    """Where the value of a variable stands, which nothing else uses; else the place itself."""
    values = ShellValues(commands)
    origin = values.origin(said.value)
    if origin is None:
        return said
    # `BATCH_SIZE` means `--micro-batch-size` wherever it is used.
    alike = set(re.split("[-_.]", flag)) - {""}
    telling = (len(parts) > 1 and parts <= alike for parts in map(_parts, origin.names))
    if not values.used_once(origin.names) and not all(telling):
        return said
    line = line_at(text, origin.start)
    return _Said(origin.start, origin.end, origin.value, line, origin.names)


def _parts(name: str) -> set[str]:
    """The words of a variable's name."""
    return set(name.lower().split("_"))


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
            raise Refusal(
                f"line {line_at(text, word.start)} holds `{name}` within quotes or a list"
            )


def _append(
    text: str, commands: Sequence[Command], words: str, framework: str, newline: str
) -> str:
    """Add words at the end of the one command that starts the training."""
    command = launch(text, commands, framework)
    if command not in commands and {"'", '"'} & set(words):
        line = line_at(text, command.start)
        raise Refusal(f"line {line} starts the training within quotes")
    last = [word for word in command.words if word.text not in _ARGUMENTS][-1]
    at = last.end
    head = text.rfind("\n", 0, command.start) + 1
    line = text.rfind("\n", 0, last.start) + 1
    if line <= head:
        return f"{text[:at]} {words}{text[at:]}"
    indent = text[line : len(text) - len(text[line:].lstrip(" \t"))]
    return f"{text[:at]} \\{newline}{indent}{words}{text[at:]}"


def _add_lines(text: str, commands: Sequence[Command], lines: Sequence[str], newline: str) -> str:
    """Add exports after the last plain one, or before the first command that starts a program."""
    started = [(c, *programs_of(text, c)) for c in commands]
    running = [(c, programs) for c, programs, runs in started if programs or runs]
    visible = [(c, programs) for c, programs in running if not without_gpu(c)]
    if running and not visible:
        line = line_at(text, running[0][0].start)
        raise Refusal(f"line {line} starts its program without a GPU: no training would read it")
    named = (c for c, programs in visible if programs)
    # What is put together as text starts something, too.
    first = next(named, next((c for c, _ in visible), next(filter(made_of, commands), None)))
    before = [
        c
        for c in commands
        if c.words[0].text == "export"
        and text[: c.start].endswith(("", "\n")[c.start > 0])
        and (first is None or c.end < first.start)
    ]
    if before:
        at = text.find("\n", before[-1].end)
        at = len(text) if at < 0 else at
        end = at - 1 if text[:at].endswith("\r") else at
        return text[:end] + "".join(newline + line for line in lines) + text[end:]
    if first is None:
        raise Refusal("it neither exports variables nor starts a program: nothing would read it")
    at = text.rfind("\n", 0, first.start) + 1
    indent = text[at : first.start]
    if indent.strip():
        raise Refusal(f"line {line_at(text, first.start)}: export it before this command by hand")
    return text[:at] + "".join(f"{indent}{line}{newline}" for line in lines) + text[at:]


def _proved(before: str, after: str, *names: str) -> str:
    """The new text, if the lint reads in it one setting changed and no other."""
    old, new = _settings(before), _settings(after)
    own = [name.lstrip("+-").replace("-", "_") for name in names]
    changed = (old - new) + (new - old)
    strange = [
        (setting, value)
        for setting, value in changed
        if setting.lstrip("+-").replace("-", "_") not in own
        and not any(name in (value or "").replace("-", "_") for name in own)  # ARGS="--own 1"
    ]
    if strange:
        raise Refusal(f"the place of `{names[0]}` is too complex to change safely")
    return after


def _settings(text: str) -> Counter[tuple[str, str | None]]:
    document = SettingsDocument(name="")
    read_shell(document, text)
    return Counter((setting.name, setting.value) for setting in document.settings)
