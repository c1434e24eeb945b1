"""Every sentence that a user may see, by key and language.

A message is a key and values; `write` turns it into text. English stands beside the code that
yields it (`say`), or in `en/*.toml` where data or an enumeration choose the sentence. A translation
is a folder of TOML files with all keys; what it lacks is said in English. The key `a.b` is `b` in
the table `[a]` of any file. The manual page of a rule is the docstring of its module; translated,
it is the table `[CODE]` of a file in `manuals/`, plain text. Sentences are format strings with the
specifications of `catalogue.wording`:

>>> write(Message(key="unit.ranks", values={"n": "0-3"}))
'ranks 0-3'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from unhang import lazy_re as re
from unhang.model.provenance import Message
from unhang.model.toml import loads
from unhang.reporters.catalogue.wording import Wording

LANGUAGES = ("en", "zh")
"""What `--lang` takes."""

_LOWER_WORD = re.compile(r"[a-z]+(?=\s(?!-))")


def write(message: Message, language: str = "en") -> str:
    """Return the sentence for `message`; never raises, so that a report is never lost.

    A key without a sentence, or values that do not fit it, give the bare key and values: still of
    use to the reader (and a test keeps the catalogue complete).
    """
    texts = sentences(language)
    try:
        template = texts.get(message.key, message.english)
        if template is not None:
            values = {
                name: write(value, language) if isinstance(value, Message) else value
                for name, value in message.values.items()
            }
            return Wording(texts, _phrases(language)).vformat(template, (), values)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError):
        pass
    return _bare(message)


def sentence(message: Message, language: str = "en") -> str:
    """Return `write(message)` with a capital where it begins with a plain word and is no command.

    Chinese knows no capitals.

    >>> sentence(Message(key="unit.rank", values={"n": 3}))
    'Rank 3'
    """
    text = write(message, language)
    if language == "zh" or not _LOWER_WORD.match(text):
        return text
    return text[:1].upper() + text[1:]


@cache
def sentences(language: str) -> Mapping[str, str]:
    """The sentences kept as data, by key; English where the language has none of its own."""
    own = own_sentences(language)
    return own if language == "en" else {**sentences("en"), **own, **dict(_of_manuals(language))}


def own_sentences(language: str) -> dict[str, str]:
    """What the TOML files of a language say, by key; empty where there are none."""
    if language not in LANGUAGES:
        return {}
    merged: dict[str, str] = {}
    for file in files(__name__).joinpath(language).iterdir():
        if file.name.endswith(".toml"):
            for table, texts in loads(file.read_text(encoding="utf-8")).items():
                merged |= {f"{table}.{name}": text for name, text in texts.items()}
    return merged


@cache
def _phrases(language: str) -> Mapping[str, str]:
    """What the data of settings say in English, by itself: `phrases.toml`."""
    file = files(__name__) / language / "by_text" / "phrases.toml"
    return loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


@cache
def manuals(language: str) -> Mapping[str, Mapping[str, str]]:
    """Return the translated manual pages: their parts by name, by the code of the rule."""
    pages: dict[str, Mapping[str, str]] = {}
    folder = files(__name__) / language / "manuals"
    if language in LANGUAGES and folder.is_dir():
        for file in folder.iterdir():
            if file.name.endswith(".toml"):
                pages |= loads(file.read_text(encoding="utf-8"))
    return pages


def _of_manuals(language: str) -> Iterator[tuple[str, str]]:
    """The parts of manual pages as sentences, and the line that lists each rule."""
    for code, page in manuals(language).items():
        texts = {name: text.replace("{", "{{").replace("}", "}}") for name, text in page.items()}
        if "summary" in texts:
            texts["row"] = f"{code}  {texts['summary']}"
        yield from ((f"manuals.{code}.{name}", text) for name, text in texts.items())


def _bare(message: Message) -> str:
    values = ", ".join(f"{name}={value}" for name, value in message.values.items())
    return f"{message.key} ({values})" if values else message.key
