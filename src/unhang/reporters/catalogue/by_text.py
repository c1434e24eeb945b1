"""Errors, refusals, comments of patches and help in another language.

An error is one English sentence, written where it is raised and read by programs, too. So its
translation has no key of its own: the key is the sentence, with `{}` for what it holds.

>>> translated("cannot read a.log: Permission denied", "zh")
'无法读取 a.log：权限不足'
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from unhang import lazy_re as re
from unhang.model.provenance import Problem
from unhang.model.toml import loads
from unhang.reporters.catalogue import LANGUAGES
from unhang.reporters.printable import one_line

_COMMENT = re.compile(r"""((?:.*\s)?)(?:# |\"{3})(\S.*?)(?:\"{3})?""")
_BY_HAND = " By hand:\n"
"""The patch after it is shown as it is, but for its comments."""
_LONGEST, _DEEPEST = 20_000, 4


def translated(text: str, language: str) -> str:
    """Return an error in `language`; what has no translation stays as it is.

    What a sentence holds may be a sentence again, or several with semicolons between them.
    """
    if language == "en" or len(text) > _LONGEST:
        return text
    said, colon, patch = text.partition(_BY_HAND)
    if not colon:
        return _translated(text, language, 0)
    return f"{_translated(said + colon.rstrip(), language, 0)}\n{translated_patch(patch, language)}"


def told(problem: Problem, language: str) -> str:
    """One line for what could not be read: its name, and why in `language`."""
    text = translated(problem.message, language)
    if not problem.artifact:
        return one_line(text)
    return one_line(f"{problem.artifact}{'：' if language == 'zh' else ': '}{text}")


def translated_patch(patch: str, language: str) -> str:
    """Return the patch of a fix with its comments in `language`; a comment becomes one line."""
    if language == "en":
        return patch
    lines: list[str] = []
    for own, before, comment in comments(patch):
        said = translated(comment, language)
        lines += own if said == comment else [f"{before}# {said}"]
    return "\n".join(lines)


def comments(patch: str) -> list[tuple[list[str], str, str]]:
    """The lines of a patch, those of one comment together: lines, what is before it, its text.

    A docstring of one line is a comment, too.

    A comment ends with a full stop, a colon, or the line after it; the text of a line without a
    comment is empty.
    """
    found: list[tuple[list[str], str, str]] = []
    for line in patch.split("\n"):
        match = _COMMENT.fullmatch(line)
        before, comment = match.groups() if match else (line, "")
        last, indent, text = found[-1] if found else ([], None, "")
        if comment and text and indent == before and not before.strip() and text[-1] not in ".:":
            found[-1] = ([*last, line], before, f"{text} {comment}")
        else:
            found.append(([line], before, comment))
    return found


def _translated(text: str, language: str, depth: int) -> str:
    if depth > _DEEPEST:
        return text
    bare = text.removesuffix(".")
    for template in _by_words(language):
        held = _held(template, bare)
        if held is not None:
            alike = _in_parts(text, language, depth) if any("; " in part for part in held) else None
            if alike is not None:  # several sentences of one kind, not one that holds the others
                return alike
            said = [_translated(part, language, depth + 1) for part in held]
            return sentences(language)[template].format(*said) + ("。" if bare != text else "")
    parts = text.split("; ")
    if not parts[1:]:
        return _of_a_file(text, language, depth)
    known = [_translated(part, language, depth + 1) for part in parts]
    return text if known == parts else "；".join(known)


def _of_a_file(text: str, language: str, depth: int) -> str:
    """The translation of a sentence with the name of what it is about before it."""
    name, _, sentence = text.partition(": ")
    said = sentence and not re.search(r"\s", name) and _translated(sentence, language, depth + 1)
    return f"{name}：{said}" if said and said != sentence else text


def _in_parts(text: str, language: str, depth: int) -> str | None:
    """The translation of sentences with semicolons between them; None unless each has one."""
    parts = text.split("; ")
    known = [_translated(part, language, depth + 1) for part in parts]
    same = any(said == part for said, part in zip(known, parts, strict=True))
    return None if same else "；".join(known)


def _held(template: str, text: str) -> list[str] | None:
    """What a text has in the holes of a template, None where it is another sentence.

    Each fixed part counts where it comes first: nothing is tried again, however long the text.
    """
    first, *fixed = template.split("{}")
    if not fixed:
        return [] if text == first else None
    last = fixed.pop()
    end = len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last) and end >= len(first)):
        return None
    held, place = [], len(first)
    for part in fixed:
        found = text.find(part, place, end)
        if found < 0:
            return None
        held.append(text[place:found])
        place = found + len(part)
    return [*held, text[place:end]]


@cache
def help_texts(language: str) -> Mapping[str, Mapping[str, str]]:
    """The help of the command line in a language: texts by name, by command; plain text."""
    folder = files("unhang.reporters.catalogue") / language / "help"
    if language not in LANGUAGES or not folder.is_dir():
        return {}
    texts: Mapping[str, Mapping[str, str]] = loads(
        (folder / "commands.toml").read_text(encoding="utf-8")
    )
    return texts


@cache
def sentences(language: str) -> Mapping[str, str]:
    """The translations of a language, by the English sentence with `{}` for what it holds.

    Neither has its full stop.
    """
    folder = files("unhang.reporters.catalogue") / language / "by_text"
    if language not in LANGUAGES or not folder.is_dir():
        return {}
    found: dict[str, str] = {}
    for file in folder.iterdir():
        texts = loads(file.read_text(encoding="utf-8"))
        found |= {key.removesuffix("."): text.removesuffix("。") for key, text in texts.items()}
    return found


@cache
def _by_words(language: str) -> tuple[str, ...]:
    """The English sentences, those with the most words of their own first."""
    return tuple(sorted(sentences(language), key=lambda key: -len(key.replace("{}", ""))))
