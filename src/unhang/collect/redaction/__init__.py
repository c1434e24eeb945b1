"""From what was gathered to what may leave the node: no secrets, and on request no names."""

from __future__ import annotations

import io
import pickle
import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from unhang.collect.redaction.names import Pseudonyms
from unhang.collect.redaction.secrets import (
    find_values,
    is_harmless,
    is_secret_name,
    known,
    replace_secrets,
)
from unhang.sources.pickles import Damaged, load_plain, salvage

__all__ = ["Pseudonyms", "Redactor"]

_IDENTITY = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
_VALUE_LIMIT = 4_000


class Redactor:
    """Removes secrets from texts, environments and pickles, and counts them. Thread-safe.

    Args:
        environments: of the processes of the job: their secrets are looked for everywhere.
        names: replaces names, too; None = names stay.
    """

    def __init__(
        self, environments: Iterable[Mapping[str, str]] = (), names: Pseudonyms | None = None
    ) -> None:
        self._values = known(find_values(environments))
        self._names = names
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind was replaced so far."""
        with self._lock:
            return dict(sorted(self._counts.items()))

    def host(self, name: str) -> str:
        """The name of a host, or its pseudonym."""
        return name if self._names is None else self._names.host(name)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        text = replace_secrets(text, self._values, self._count)
        return text if self._names is None else self._names.replace(text, self._count)

    def data(self, data: bytes) -> bytes:
        """The same for bytes, which need not be text throughout."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def variable(self, name: str, value: str) -> str:
        """The value of a variable, or what stands for it."""
        if is_secret_name(name) and not is_harmless(value.strip()):
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

    def pickle(self, data: bytes) -> bytes:
        """A pickle of plain data, written anew without secrets; what is cut is saved as it is.

        Raises:
            ArtifactError: it carries code, or nothing in it can be read.
        """
        try:
            tree = load_plain(lambda: io.BytesIO(data), len(data))
        except Damaged:
            tree = salvage(data)
            if tree is None:
                raise
        return pickle.dumps(self._tree(tree), protocol=2)

    def _tree(self, tree: object) -> object:
        """The same data; equal texts are looked at once."""
        seen: dict[str, str] = {}

        def walk(node: object) -> object:
            if isinstance(node, str):
                if node not in seen:
                    seen[node] = self.text(node)
                return seen[node]
            if isinstance(node, list):
                return [walk(item) for item in node]
            if isinstance(node, tuple):
                return tuple(walk(item) for item in node)
            if isinstance(node, dict):
                return {walk(key): walk(value) for key, value in node.items()}
            return node

        return walk(tree)

    def _count(self, kind: str) -> None:
        with self._lock:
            self._counts[kind] += 1


def _one_line(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")[:_VALUE_LIMIT]
