"""From text to text that may leave the machine: no secrets, and on request no names.

    redactor = Redactor([os.environ])
    redactor.text("curl -u trainer:hunter2 …")   # 'curl -u [redacted password argument] …'
    redactor.counts                              # {'password argument': 1}

A rule errs on the side of redacting: a word too many costs a reader less than a key. Shapes are
looked for first, then what stands behind the name of a secret, in the text as it was; nothing that
one finder replaces hides from another.
"""

from __future__ import annotations

import dataclasses
import enum
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from unhang.redaction.keys import find_keys
from unhang.redaction.known import find_known, known
from unhang.redaction.named import find_named
from unhang.redaction.names import grade, is_secret_name
from unhang.redaction.pseudonyms import Pseudonyms
from unhang.redaction.shapes import Shape, known_shapes, long_words, own_shapes
from unhang.redaction.spans import Span, replace_spans
from unhang.redaction.tables import find_in_tables
from unhang.redaction.values import is_harmless, looks_random
from unhang.redaction.views import views

__all__ = ["Pseudonyms", "Redactor", "Shape", "own_shapes"]

T = TypeVar("T")

_VALUE_LIMIT = 4_000
_RANDOM_VARIABLE = 32
"""Characters: a variable whose value is that long, one word, and looks random goes by any name."""


class Redactor:
    """Removes secrets from texts, environments and data, and counts them. Thread-safe.

    Args:
        environments: of the processes of the job: their secrets are looked for everywhere.
        names: replaces names, too; None = names stay.
        shapes: the user's own, beside those that are known.
    """

    def __init__(
        self,
        environments: Iterable[Mapping[str, str]] = (),
        names: Pseudonyms | None = None,
        shapes: Sequence[Shape] = (),
    ) -> None:
        self._known = known(environments)
        self._names = names
        self._shapes = (*shapes, *known_shapes())
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind was replaced so far."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def learn(self, data: object) -> None:
        """Note names of hosts, users and accounts in texts; from now on all of them go everywhere.

        Args:
            data: a text, bytes, or data with texts in it.
        """
        if self._names is not None:
            for text in _texts(data):
                self._names.learn(text)

    def learn_hosts(self, names: Iterable[str]) -> None:
        """Note names that are known to be those of hosts."""
        if self._names is not None:
            self._names.learn_hosts(names)

    def host(self, name: str) -> str:
        """The name of a host, or its pseudonym."""
        return name if self._names is None else self._names.host(name)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        text = replace_spans(text, self._find(text), self._count)
        return text if self._names is None else self._names.replace(text, self._count)

    def data(self, data: bytes) -> bytes:
        """The same for bytes, which need not be text throughout."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def variable(self, name: str, value: str) -> str:
        """The value of a variable, or what stands for it."""
        bare = value.strip()
        hidden = is_secret_name(name) or (len(bare) >= _RANDOM_VARIABLE and _is_random(bare))
        if hidden and not is_harmless(bare):
            self._count("variable")
            return "[redacted variable]"
        return self.text(value)

    def environment(self, data: bytes) -> bytes:
        """Variables that end by NUL, one a line and sorted; those that tell who it is lead."""
        pairs = (entry.partition("=") for entry in data.decode(errors="replace").split("\0"))
        told = {name: self.variable(name, value) for name, sign, value in pairs if sign}
        lines = [" ".join(f"{name}={told[name]}" for name in _IDENTITY if name in told)]
        lines.extend(f"{name}={_one_line(value)}" for name, value in sorted(told.items()))
        return ("\n".join(line for line in lines if line) + "\n").encode()

    def arguments(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words of a command line; a secret may be in one word, or follow its option."""
        told: list[str] = []
        hide = False
        for word in words:
            name, sign, value = word.lstrip("-").partition("=")
            option = word.startswith("-") and grade(name) > 0
            if hide and not word.startswith("--") and not is_harmless(word):
                self._count("argument")
                told.append("[redacted argument]")
            elif option and sign and not is_harmless(value):
                self._count("argument")
                told.append(f"{word[: len(word) - len(value)]}[redacted argument]")
            else:
                told.append(self.text(word))
            hide = option and not sign
        return tuple(told)

    def tree(self, node: T) -> T:
        """The same data without secrets: texts in dataclasses, mappings and sequences.

        What stands for a value under the name of a secret is looked at with its name.
        """
        result: T = self._walk(node, {})
        return result

    def _walk(self, node: Any, seen: dict[str, str]) -> Any:
        """Equal texts are looked at once."""
        if isinstance(node, enum.Enum):
            return node
        if isinstance(node, str):
            if node not in seen:
                seen[node] = self.text(node)
            return seen[node]
        if dataclasses.is_dataclass(node) and not isinstance(node, type):
            fields = {f.name: getattr(node, f.name) for f in dataclasses.fields(node) if f.init}
            hidden = _named_value(fields)
            fresh = {name: self._walk(value, seen) for name, value in hidden.items()}
            changed = {name: value for name, value in fresh.items() if value is not fields[name]}
            return dataclasses.replace(node, **changed) if changed else node
        if isinstance(node, Mapping):
            node = _named_value(node)
            return {
                self._walk(name, seen): self._valued(name, value, seen)
                for name, value in node.items()
            }
        if isinstance(node, (list, tuple)):
            fresh_items = [self._walk(item, seen) for item in node]
            same = all(new is old for new, old in zip(fresh_items, node, strict=True))
            if same:
                return node
            return _tuple(node, fresh_items)
        if isinstance(node, (set, frozenset)):
            return type(node)(self._walk(item, seen) for item in node)
        return node

    def _valued(self, name: object, value: Any, seen: dict[str, str]) -> Any:
        if isinstance(name, str) and isinstance(value, str) and grade(name) > 0:
            joined = f"{name}={value!r}"
            if any(span.end > len(name) + 1 for span in find_named(joined, _lower(joined))):
                self._count("named secret")
                return "[redacted named secret]"
        if isinstance(name, str) and isinstance(value, (list, tuple)) and grade(name) > 0:
            return _tuple(value, [self._valued(name, item, seen) for item in value])
        return self._walk(value, seen)

    def _find(self, text: str) -> Iterator[Span]:
        """Where secrets stand, also in what somebody escaped."""
        yield from self._find_plain(text)
        for view in views(text):
            for span in self._find_plain(view.text):
                yield view.back(span)

    def _find_plain(self, text: str) -> Iterator[Span]:
        """Where secrets stand, the most telling kind first."""
        lower = _lower(text)
        yield from find_known(text, self._known)
        yield from find_keys(text)
        words = long_words(text)
        for shape in self._shapes:
            yield from shape.find(text, lower, words)
        yield from find_named(text, lower)
        yield from find_in_tables(text, lower)

    def _count(self, kind: str) -> None:
        with self._lock:
            self._counts[kind] += 1


_IDENTITY = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_VALUES = ("value", "before", "after", "printed")
"""What holds the value of a setting that is named beside."""


def _tuple(old: Any, items: list[Any]) -> Any:
    """A list or tuple of the same kind."""
    return getattr(type(old), "_make", type(old))(items)


def _named_value(node: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A mapping that tells name and value apart, with the value hidden if the name says so."""
    name = next((node[key] for key in ("name", "setting", "key") if key in node), None)
    if not (isinstance(name, str) and is_secret_name(name)):
        return node
    return {**node, **{key: _hidden(node[key]) for key in _VALUES if key in node}}


def _hidden(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return _tuple(value, [_hidden(item) for item in value])
    told = isinstance(value, str) and not is_harmless(value.strip())
    return "[redacted variable]" if told else value


def _is_random(value: str) -> bool:
    """Letters of both cases and digits, one word that names no place."""
    return (
        not any(c in value for c in "/: ,=\n")
        and any(c.isdigit() for c in value)
        and value not in (value.lower(), value.upper())
        and looks_random(value)
    )


def _one_line(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")[:_VALUE_LIMIT]


def _lower(text: str) -> bytes:
    """In lower case, one byte a character, so that places in it are places in the text."""
    return text.encode("ascii", "replace").lower()


def _texts(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, bytes):
        yield node.decode(errors="replace")
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        for field in dataclasses.fields(node):
            yield from _texts(getattr(node, field.name))
    elif isinstance(node, Mapping):
        for name, value in node.items():
            yield from (*_texts(name), *_texts(value))
    elif isinstance(node, (list, tuple, set, frozenset)):
        for item in node:
            yield from _texts(item)
