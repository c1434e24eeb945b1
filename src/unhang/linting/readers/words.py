"""From a command line's words to settings: assignments, flags, overrides, programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from unhang import lazy_re as re
from unhang.linting.document import SettingKind, SettingsDocument
from unhang.settings import frameworks

_WORD = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\;|&])+|["';|&\\]""")
_ASSIGNMENT = re.compile(r"[({`]*([A-Z][A-Z0-9_]{2,})=(.*)", re.DOTALL)
_OVERRIDE = re.compile(r"(\+{0,2}[a-z_][a-z0-9_]*(?:\.[a-zA-Z0-9_]+)*)=(.+)", re.DOTALL)
_FLAG = re.compile(r"--([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_IN_JSON = re.compile(r'"([A-Z][A-Z0-9_]{2,})"\s*:\s*"([^"]*)"')
_READ = re.compile(r"(?:--[\w.-]+[= ]|[a-z_]=)[\"']?\$\{?([A-Z][A-Z0-9_]{2,})")
_DEFAULT = re.compile(r"\$\{[A-Z][A-Z0-9_]*:?[-=]([^{}$]*)\}")
_PREFIXES = ("--env=", "--export=", "-x", "-e", "--build-arg=")
_NODE_FLAGS = frozenset({"nnodes", "nodes", "num_machines", "num_nodes", "num-nodes"})
_SCHEDULERS = frozenset({"#SBATCH", "srun", "sbatch", "salloc"})
_LONGEST = 8_000
"""Characters of a line: what is longer is data."""

_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate launch")


def split_words(line: str) -> list[str]:
    """The words of a shell line, with their quotes; comments are gone.

    >>> split_words('NAME="a b" cmd --flag 1  # why')
    ['NAME="a b"', 'cmd', '--flag', '1']
    """
    words: list[str] = []
    for match in _WORD.finditer(line[:_LONGEST]):
        word = match.group()
        if word.startswith("#") and (match.start() == 0 or line[match.start() - 1].isspace()):
            break
        words.append(word)
    return words


def read_words(
    document: SettingsDocument, words: Sequence[str], line: int, *, certain: bool
) -> None:
    """Note every setting among the words of one command."""
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else None
        for name, value, kind in _settings(word, following):
            document.add(name, value, line, kind, certain=certain)
            if kind is SettingKind.OPTION and name.removeprefix("--") in _NODE_FLAGS:
                _note_nodes(document, value)
    if words and words[0] in _SCHEDULERS:
        for option, value in pairwise(words):
            if option == "-N":
                _note_nodes(document, value)


def note_programs(document: SettingsDocument, text: str) -> None:
    """Note which frameworks and launchers a text names."""
    document.programs.update(name for mark, name in _programs() if mark in text)
    for name, pattern in _patterns():
        if pattern.search(text) is not None:
            document.programs.add(name)
    document.torchrun = document.torchrun or any(mark in text for mark in _LAUNCHERS)


@cache
def _programs() -> tuple[tuple[str, str], ...]:
    return tuple((mark, f.name) for f in frameworks().values() for mark in f.programs)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((f.name, f.program_pattern) for f in frameworks().values() if f.program_pattern)


def note_file_keys(document: SettingsDocument, suffix: str, key: str) -> None:
    """Note whose own file it is, of which a key tells: `<name>-<suffix>` is among its programs."""
    for framework in frameworks().values():
        if key in framework.file_keys.get(suffix, ()):
            document.programs.update((framework.name, f"{framework.name}-{suffix}"))


def note_reads(document: SettingsDocument, text: str) -> None:
    """Note the variables that a command line passes on to a program.

    `--timeout $NCCL_TIMEOUT` does; `export NCCL_TIMEOUT=${NCCL_TIMEOUT:-60}` and `echo` do not.
    """
    document.reads.update(_READ.findall(text))


def _settings(word: str, following: str | None) -> Iterator[tuple[str, str | None, SettingKind]]:
    bare = _without_prefix(word)
    if bare[:1] in "\"'" and " " in bare:
        # A command in quotes: `bash -c "export A=1; torchrun …"`, or a JSON object.
        yield from ((name, value, SettingKind.VARIABLE) for name, value in _IN_JSON.findall(bare))
        inner = split_words(bare[1:-1])
        for index, part in enumerate(inner):
            yield from _settings(part, inner[index + 1] if index + 1 < len(inner) else None)
        return
    for part in bare.split(",") if word is not bare and "," in bare else (bare,):
        yield from _one(part, following)


def _one(word: str, following: str | None) -> Iterator[tuple[str, str | None, SettingKind]]:
    # A word that is quoted as a whole, `"trainer.n_gpus=8"`, means the same without its quotes.
    plain = word.strip("\"'") if word[:1] == word[-1:] and word[:1] in "\"'" else word
    if (match := _ASSIGNMENT.fullmatch(plain)) is not None:
        name, value = match.groups()
        if value.startswith("("):
            yield from _one(value[1:], None)
        else:
            yield name, known_value(value), SettingKind.VARIABLE
    elif (match := _FLAG.fullmatch(plain)) is not None:
        name, value = match.groups()
        if value is None and following is not None and not following.startswith("-"):
            value = following
        if value is not None and "{" in value:
            yield from ((key, item, SettingKind.VARIABLE) for key, item in _IN_JSON.findall(value))
        elif value is not None:
            yield f"--{name}", known_value(value), SettingKind.OPTION
    elif (match := _OVERRIDE.fullmatch(plain)) is not None:
        yield match.group(1), known_value(match.group(2)), SettingKind.OPTION
    elif plain.startswith("{"):
        yield from ((name, value, SettingKind.VARIABLE) for name, value in _IN_JSON.findall(plain))


def known_value(text: str) -> str | None:
    """The value without quotes, the default of `${NAME:-default}`, or None: computed.

    >>> known_value('"8"'), known_value("${NCCL_DEBUG:-WARN}"), known_value("$SLURM_JOB_ID")
    ('8', 'WARN', None)
    """
    value = text.rstrip(";)`}") if text[:2] != "${" else text
    value = value.strip("\"'")
    default = _DEFAULT.fullmatch(value)
    if default is not None:
        return default.group(1).strip("\"'")
    return None if "$" in value or "`" in value else value


def _without_prefix(word: str) -> str:
    """The word without the option that carries it: `--export=ALL,A=1`, `-xA=1`."""
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if rest is not word and rest != word and "=" in rest and rest[:1].isupper():
            return rest
    return word


def _note_nodes(document: SettingsDocument, value: str | None) -> None:
    """A number, or a range such as `1:4` of which the larger end counts."""
    for part in re.split(r"[:-]", value or ""):
        if part.isdigit() and len(part) < 7:
            document.note_nodes(int(part))
