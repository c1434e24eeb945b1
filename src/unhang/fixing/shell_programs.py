"""Which command of a script starts the training, and whether it may take a framework's settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_words import Command, ShellWord, read_commands
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.words import note_programs
from unhang.settings import family_of, frameworks
from unhang.settings.accepted import AcceptedKeys

_RUNNERS = frozenset({"torchrun", "python", "python3"})
_SHELLS = frozenset({"sh", "bash", "zsh"})
_LONGEST_SHOWN = 40
_MANY = 10
"""Flags of a framework that no program of another kind has by chance."""

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
_NO_GPU = re.compile(r"""CUDA_VISIBLE_DEVICES=(?:""|''|["']?-1["']?)?""")
_PATH = re.compile(r"(?:^|=)[\w.~$-]*/")


def launch(text: str, commands: Sequence[Command], framework: str) -> Command:
    """The command that starts the training: the framework's own program, else a launcher."""
    groups: tuple[list[Command], list[Command]] = ([], [])
    for command in commands:
        programs, launched = programs_of(text, command)
        if framework in programs:
            groups[0].append(command)
        elif launched:
            groups[1].append(command)
    found = next((group for group in groups if group), [])
    if len(found) > 1:
        # What merges or evaluates afterwards is a plain program.
        found = [c for c in found if by_launcher(text, c)] or found
    made = next(filter(None, map(made_of, commands)), None)
    if made is not None and not groups[0]:
        within = _in_quotes(text, made) or _within(text, commands, made)
        if within is not None:
            _refuse_other_framework(text, within, framework)
            return within
        shown = made.text if len(made.text) < _LONGEST_SHOWN else f"{made.text[:_LONGEST_SHOWN]}…"
        raise Refusal(
            f"line {line_at(text, made.start)} runs a command that is put together as text"
            f" ({shown}): change it where that text is written"
        )
    if len(found) != 1:
        lines = ", ".join(str(line_at(text, c.start)) for c in found)
        if not found:
            raise Refusal("no command in it starts a training")
        raise Refusal(f"{len(found)} commands start programs (lines {lines}): it is unknown which")
    _refuse_other_framework(text, found[0], framework)
    quoted = [w for w in found[0].words if " " in w.text and w.text[0] in "\"'" and _starts(w.bare)]
    if quoted:
        inner = _in_quotes(text, quoted[0])
        if inner is None:
            line = line_at(text, found[0].start)
            raise Refusal(f"line {line} starts the training within quotes")
        return inner
    return found[0]


def by_launcher(text: str, command: Command) -> bool:
    """Whether it starts a process for each GPU."""
    document = SettingsDocument(name="")
    note_programs(document, text[command.start : command.end])
    return document.torchrun or not launchers().isdisjoint(document.programs)


def made_of(command: Command) -> ShellWord | None:
    """The text that a command runs as another command, where variables are in it."""
    words = command.words
    if words[0].bare == "eval" and len(words) > 1:
        return words[1]
    for before, option, text in zip(words, words[1:], words[2:], strict=False):
        if before.bare in _SHELLS and option.bare in ("-c", "-lc") and "$" in text.text:
            return text
    return None


def _within(text: str, commands: Sequence[Command], made: ShellWord) -> Command | None:
    """The command in the one variable of such a text that names a program; else None."""
    named = set(re.findall(r"\$\{?(\w+)", made.text))
    found = []
    for word in (word for command in commands for word in command.words):
        name, sign, value = word.text.partition("=")
        if sign and name in named and value[:1] + value[-1:] == '""' and ".py" in value:
            found.append(_in_quotes(text, ShellWord(word.end - len(value), word.end, value)))
    return found[0] if len(found) == 1 else None


def _in_quotes(text: str, quoted: ShellWord) -> Command | None:
    """The one command in a quoted text that names a program to train with; else None."""
    if quoted.text[:1] not in ("'", '"') or quoted.text[:1] != quoted.text[-1:]:
        return None
    at = quoted.start + 1
    try:
        inner = read_commands(text[at : quoted.end - 1])
    except Refusal:
        return None
    moved = [Command([ShellWord(w.start + at, w.end + at, w.text) for w in c.words]) for c in inner]
    found = [
        c
        for c in moved
        if not _ASIDE & {c.words[0].bare}
        and any(w.text.endswith(".py") or w.text == "-m" for w in c.words)
    ]
    return found[0] if len(found) == 1 else None


def check_program(text: str, framework: str) -> None:
    """Refuse a script whose only program is another framework's.

    Raises:
        Refusal: with the line that starts it.
    """
    launched = [c for c in read_commands(text) if programs_of(text, c)[1]]
    if len(launched) == 1:
        _refuse_other_framework(text, launched[0], framework)


def refuse_own_program(text: str, command: Command, framework: str, flag: str) -> None:
    """A program that takes flags which a framework's own does not know is another one."""
    known = frameworks()
    parts = [p for p in (known[framework].accepts if framework in known else ()) if p.flags]
    given = _given(text, command, framework, flag)
    strange = {f"--{name}" for f in family_of(framework) for name in f.strange}
    if (other := next((w for w in given if w.partition("=")[0] in strange), None)) is not None:
        raise Refusal(_another(text, command, other.partition("=")[0], framework, flag))
    if _is_fork(given, parts, flag):
        return
    for word in given if parts else ():
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and not any(k.startswith(name) for p in parts for k in p.releases):
            raise Refusal(_another(text, command, f"--{name}", framework, flag))


def _is_fork(given: Sequence[str], parts: Sequence[AcceptedKeys], flag: str) -> bool:
    """Whether a program takes most of its flags from a framework, so also what each release has."""
    flags = [w.removeprefix("--").partition("=")[0] for w in given if w.startswith("--")]
    known = sum(any(name in part.releases for part in parts) for name in flags)
    wanted = flag.removeprefix("--")
    ever = any(set(part.releases.get(wanted, ())) == set(part.read) for part in parts)
    return ever and known >= _MANY and known * 5 >= len(flags) * 4


def refuse_own_overrides(text: str, command: Command, framework: str, name: str) -> None:
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
    if not given and framework not in programs_of(text, command)[0]:
        raise Refusal(
            f"line {line_at(text, command.start)} starts its program without any argument: it is"
            f" unknown whether it reads `{name}`"
        )
    return given


def _another(text: str, command: Command, said: str, framework: str, wanted: str) -> str:
    return (
        f"line {line_at(text, command.start)} starts a program with `{said}`, which {framework}"
        f" does not know: it may not take `{wanted}` either"
    )


def _refuse_other_framework(text: str, command: Command, framework: str) -> None:
    """Another framework's program does not know this one's settings."""
    others = sorted(programs_of(text, command)[0] - launchers())
    known = frameworks()
    word = known[framework].kin if framework in known else None
    kin = {framework, *(f.name for f in known.values() if word is not None and f.kin == word)}
    if others and kin.isdisjoint(others):
        line = line_at(text, command.start)
        own = f": `unhang diagnose --framework {others[0]}` writes it for that"
        raise Refusal(
            f"line {line} starts {others[0]}, and the fix is for {framework}"
            f"{own if known[others[0]].recipes else ''}"
        )


def programs_of(text: str, command: Command) -> tuple[set[str], bool]:
    """Frameworks that a command names, and whether it starts any program."""
    words = [word.bare.rpartition("/")[2] for word in command.words]
    module = words[words.index("-m") + 1 : words.index("-m") + 2] if "-m" in words else []
    if _ASIDE & {words[0], *module} or all(
        _ASSIGNED.fullmatch(word.text) for word in command.words
    ):
        return set(), False
    document = SettingsDocument(name="")
    note_programs(document, _without_data(text, command))
    runs = not (_RUNNERS | launchers()).isdisjoint(words) and _NOT_TRAINING.isdisjoint(words)
    return document.programs, runs or document.torchrun or len(document.programs) > 0


def without_gpu(command: Command) -> bool:
    """Whether a command hides every GPU from the program that it starts."""
    return any(_NO_GPU.fullmatch(word.text) for word in command.words)


def _without_data(text: str, command: Command) -> str:
    """The text of a command but for paths behind its program's options: a folder starts nothing."""
    words = command.words
    at = next((i for i, w in enumerate(words) if w.bare.endswith(".py")), len(words))
    kept, end = "", command.start
    for before, word in zip(words[at:], words[at + 1 :], strict=False):
        option = before.bare.startswith("--") or word.bare.startswith("--")
        if option and _PATH.search(word.bare) is not None:
            kept, end = kept + text[end : word.start], word.end
    return kept + text[end : command.end]


def _starts(text: str) -> bool:
    return any(re.search(rf"(?<!\S){name}\s", text) for name in _RUNNERS | launchers())


@cache
def launchers() -> frozenset[str]:
    """Frameworks whose program starts other frameworks' scripts."""
    return frozenset(f.name for f in frameworks().values() if f.launches)


def line_at(text: str, at: int) -> int:
    """The number of the line in which a character stands, from 1."""
    return text.count("\n", 0, at) + 1
