"""The files of one job: what holds in them, and which of them a setting belongs into.

A job's settings are spread over a launch script, a configuration, DeepSpeed's JSON, and the
configurations that the script writes as here-documents. They are read together and written
together; what only stands beside them is read.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unhang import lazy_re as re
from unhang.errors import UsageError
from unhang.fixing.config_file import ConfigFile, Language, read_target, suffix_language
from unhang.fixing.editors import python as python_editor
from unhang.fixing.editors.manifest import find_scripts
from unhang.fixing.refusal import Refusal
from unhang.fixing.shell_values import ShellValues
from unhang.fixing.shell_words import read_commands
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.heredocs import Heredoc, find_heredocs, without_heredocs
from unhang.linting.readers.json import read_json
from unhang.linting.readers.shell import read_shell
from unhang.linting.readers.toml import read_toml
from unhang.linting.readers.yaml import read_yaml
from unhang.settings import frameworks

_READERS: Mapping[Language, Callable[[SettingsDocument, str], None]] = {
    Language.YAML: read_yaml,
    Language.JSON: read_json,
    Language.TOML: read_toml,
    Language.SHELL: read_shell,
    Language.VARIABLES: read_shell,
    Language.DOCKERFILE: read_shell,
}
_MENTION = re.compile(r"(?<![\w./-])[\w./-]{0,255}\w\.(?:json|ya?ml|toml|py)\b")
_MORE_WORDS = re.compile(r"\"?\$\{?(?:[@*]|\w*(?:ARG|OPT|FLAG|EXTRA)\w*)", re.IGNORECASE)
"""A variable that holds further options, not the value of the one before it."""
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=(.*)", re.DOTALL)
_OFF = frozenset({"null", "none", "false", "no", "disable", "~", ""})
_MOST_BESIDE = 8
_SHELL = frozenset({Language.SHELL, Language.DOCKERFILE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One file, or one here-document of it, with the settings in it.

    Attributes:
        owner: index of the file among those of the job; None = it is only read.
        within: the here-document that it is; None = the whole file.
        settings: values by key.
        tags: what is known of the file: `deepspeed-json`.
    """

    file: ConfigFile
    owner: int | None
    within: Heredoc | None = None
    settings: Mapping[str, str]
    tags: frozenset[str]


class Job:
    """The settings of the files that belong to one job.

    A command line overrides a configuration; else the file that comes first counts. A DeepSpeed
    JSON nests and a command line is flat, so that a key is also found under its last part where
    that is unique.
    """

    def __init__(
        self,
        targets: Sequence[ConfigFile],
        beside: Sequence[ConfigFile] = (),
        remarks: Sequence[str] = (),
    ) -> None:
        self.targets = tuple(targets)
        self.remarks = tuple(remarks)
        self._beside = tuple(beside)
        files = [*enumerate(targets), *((None, file) for file in beside)]
        self.documents = [held for owner, file in files for held in _documents(file, owner)]
        # A command line first; what stands in a file that is only read, last.
        self.documents.sort(key=lambda h: (h.owner is None, h.file.language not in _SHELL))
        self._held: dict[str, str] = {}
        alone = all(d.tags and d.file.language is Language.JSON for d in self.documents)
        for document in reversed(self.documents):
            # `auto` is what another file says, or its default.
            told = {k: v for k, v in document.settings.items() if alone or v != "auto"}
            self._held.update(told)

    def value(self, key: str) -> str | None:
        """The value in force for a key, as text."""
        wanted = plain(key)
        if wanted in self._held:
            return self._held[wanted]
        if any(k.startswith(f"{wanted}.") for k in self._held):
            return "set"
        ends = {v for k, v in self._held.items() if k.rpartition(".")[2] == wanted}
        return ends.pop() if len(ends) == 1 and "." not in wanted else None

    def holds(self, key: str) -> bool:
        """Whether a key is set under just this name."""
        return plain(key) in self._held

    def holding(self, key: re.Pattern[str]) -> dict[str, str]:
        """The settings in force whose whole key matches, but for those that turn it off."""
        return {
            name: value
            for name, value in self._held.items()
            if key.fullmatch(name) and value.lower() not in _OFF
        }

    def names(self, program: str) -> bool:
        """Whether a setting of the job is, or is called after, that program."""
        word = re.compile(rf"(?<![^\W_]){re.escape(program)}(?![^\W_])")
        said = (part for pair in self._held.items() for part in pair)
        return any(program in held.tags for held in self.documents) or any(map(word.search, said))

    def elsewhere(self, options: Sequence[str]) -> str | None:
        """The option that names a configuration of the job which is none of its documents."""
        here = {
            part
            for held in self.documents
            for path in [Path(held.within.name if held.within else held.file.path)]
            for part in (path.name, path.stem)
        }
        for option in options:
            named = self.value(option)
            if named not in (None, "true") and Path(str(named)).name not in here:
                return f"`{option}` ({named})"
        return None

    def with_text(self, document: Held, text: str) -> Job:
        """The job with another text of one document."""
        assert document.owner is not None, "it is only read"
        target = self.targets[document.owner]
        if document.within is not None:
            start, end = document.within.start, document.within.end
            text = target.text[:start] + text + target.text[end:]
        changed = list(self.targets)
        changed[document.owner] = replace(target, text=text)
        return Job(changed, self._beside, self.remarks)

    def remarked(self, remark: str) -> Job:
        """The job with something that whoever reads the change must know."""
        return Job(self.targets, self._beside, (*self.remarks, remark))


def read_job(paths: Sequence[str]) -> Job:
    """Read the files that may be changed, and the configurations that they name.

    Raises:
        UsageError: one of the named files cannot be changed safely.
    """
    named = list(dict.fromkeys(paths))
    targets = [read_target(path, among=len(named) > 1) for path in named]
    if all(target.language is Language.OTHER for target in targets):
        read_target(named[0])
    return Job(targets, list(_beside(targets)))


def _beside(targets: Sequence[ConfigFile]) -> Iterator[ConfigFile]:
    """Configurations that the files name and that lie where they say."""
    seen = {target.real.resolve() for target in targets}
    for target in targets:
        folders = (target.real.parent, Path.cwd())
        for name in list(dict.fromkeys(_MENTION.findall(target.text)))[:_MOST_BESIDE]:
            beside = (folder / name for folder in folders)
            path = next((p for p in beside if os.path.isfile(p)), None)  # noqa: PTH113 (any name)
            if path is None or path.resolve() in seen:
                continue
            seen.add(path.resolve())
            try:
                yield read_target(str(path))
            except UsageError:
                continue


def _documents(file: ConfigFile, owner: int | None) -> Iterator[Held]:
    if file.language is Language.YAML:
        # What a manifest starts is a script within it.
        for within in reversed(list(find_scripts(file.text))):
            text = file.text[within.start : within.end]
            yield _held(replace(file, text=text, language=Language.SHELL), owner, within)
    if file.language is not Language.SHELL:
        yield _held(file, owner, None)
        return
    for within in reversed(find_heredocs(file.text)):
        language = suffix_language(within.name)
        if language is not None:
            part = replace(
                file,
                path=f"{file.path} ({within.name})",
                text=file.text[within.start : within.end],
                language=language,
            )
            yield _held(part, owner, within)
    yield _held(file, owner, None)


def _held(file: ConfigFile, owner: int | None, within: Heredoc | None) -> Held:
    document = SettingsDocument(name=file.path)
    settings: dict[str, str] = {}
    reader = _READERS.get(file.language)
    if reader is not None:
        shell = file.language is Language.SHELL
        reader(document, without_heredocs(file.text) if shell else file.text)
        settings = {plain(s.name): s.value for s in document.settings if s.value is not None}
    if file.language is Language.JSON:
        settings.update((plain(key), value) for key, value in document.dotted.items())
    if file.language is Language.SHELL:
        settings = _resolved(file.text, {**_words(file.text), **settings})
    if file.language is Language.CODE:
        settings = _constructed(file.text)
    return Held(
        file=file, owner=owner, within=within, settings=settings,
        tags=frozenset(document.programs),
    )  # fmt: skip


def _resolved(text: str, settings: dict[str, str]) -> dict[str, str]:
    """The settings with what the script's own variables hold."""
    try:
        values = ShellValues(read_commands(text))
    except Refusal:
        return settings
    return {k: values.value(v) if "$" in v else v for k, v in settings.items()}


def _constructed(text: str) -> dict[str, str]:
    """Keywords of the classes that hold a framework's settings."""
    found: dict[str, str] = {}
    try:
        tree = python_editor.parse(text)
    except Refusal:
        return found
    for framework in frameworks().values():
        for spelled, prefix in framework.constructors.items():
            for call in constructor_calls(tree, text, spelled):
                above = [prefix] if prefix else []
                taken = python_editor.spread(tree, call)
                for given in (call,) if taken is None else (taken, call):
                    found.update(python_editor.plain_arguments(given, *above))
    return found


def constructor_calls(tree: ast.Module, text: str, spelled: str) -> list[ast.Call]:
    """Calls of a constructor, spelled `Name`, or `package:name` where that package must be used."""
    package, _, name = spelled.rpartition(":")
    return python_editor.calls(tree, {name}) if package in text else []


def _words(text: str) -> dict[str, str]:
    """What a command line says without a value: bare flags, and words in a known place."""
    found: dict[str, str] = {}
    for framework in frameworks().values():
        for key, pattern in framework.positional.items():
            if (match := pattern.search(text)) is not None:
                found[key] = match[1]
    try:
        commands = read_commands(text)
    except Refusal:
        return found
    for command in commands:
        words = [part for word in command.words for part in _parts(word.text)]
        for word, after in zip(words, [*words[1:], "--"], strict=True):
            if (override := _OVERRIDE.fullmatch(word)) is not None:
                found[override[1]] = override[2].strip("\"'")
            if not word.startswith("--"):
                continue
            name, sign, value = word.partition("=")
            if sign:
                found[plain(name)] = value.strip("\"'")
            elif after.startswith("--") or _MORE_WORDS.match(after):
                found[plain(word)] = "true"
            elif word != "--":
                found[plain(word)] = after.strip("\"'")
    return found


def _parts(word: str) -> list[str]:
    """A word of a command; the flags in a variable (`ARGS="--a 1 --b"`), each by itself."""
    name, sign, value = word.partition("=")
    if not sign or not name.isidentifier() or "--" not in value:
        return [word.strip("\"'")]
    return [*value.strip("\"'").replace("\\\n", " ").split(), "--"]


def plain(key: str) -> str:
    """A key as all spellings have it in common.

    >>> plain("--micro-batch-size"), plain("+trainer.save_freq")
    ('micro_batch_size', 'trainer.save_freq')
    """
    return key.lstrip("+-").replace("-", "_")
