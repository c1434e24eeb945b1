"""Every loss that the code can tell has a sentence, and every sentence a loss."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.package import PACKAGE, trees
from unhang.reporters.catalogue import sentences

LIVE, PROBE = PACKAGE / "live", PACKAGE / "probe"


def calls(folder: Path, *names: str) -> Iterator[ast.Call]:
    """Calls of functions and methods of these names."""
    for path, tree in trees().items():
        for node in ast.walk(tree) if path.is_relative_to(folder) else ():
            if isinstance(node, ast.Call) and dotted(node.func).endswith(names):
                yield node


def dotted(node: ast.expr) -> str:
    """The name that is called; of what stands before a dot only names are told."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def texts(node: ast.AST) -> Iterator[str]:
    """Literal texts in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


@cache
def told() -> dict[str, set[str] | None]:
    """Codes that are told, with the names of their values; None = the source does not tell."""
    found: dict[str, set[str] | None] = {}
    for call in calls(LIVE, "Loss.of", "Loss.failed", "Loss"):
        for code in texts(call.args[0]) if call.args else ():
            names = {keyword.arg or "" for keyword in call.keywords}
            plain = dotted(call.func).endswith("Loss.of") and "" not in names
            found[code] = names if plain else None
    for call in calls(LIVE / "agent", "self._try"):
        found |= {code: {"why"} for code in texts(call.args[0])}
    for call in calls(LIVE / "run_folder", "_writer.write", "_writer.write_view"):
        found |= {f"{what}_unwritten": {"why"} for what in texts(call.args[0])}
    for call in calls(PROBE, ".lose", "._lose", "self._try"):
        found |= {f"probe_{code}": {"why"} for code in texts(call.args[0])}
    for node in ast.walk(trees()[PROBE / "recorder.py"]):
        if isinstance(node, ast.Yield) and node.value is not None:
            found |= {f"probe_{t}": {"why"} for t in texts(node.value) if t.startswith("recorder")}
    for text in texts(trees()[PROBE / "fitting.py"]):
        if text.startswith("full_"):
            found[f"probe_{text}"] = {"why"}
    return {code: names for code, names in found.items() if code.isidentifier()}


def test_every_loss_has_its_sentence_and_the_values_for_it() -> None:
    catalogue, wrong = sentences("en"), []
    for code, given in told().items():
        template = catalogue.get(f"lost.{code}")
        if code == "_unwritten":
            continue  # the end of a code that the writer is given
        needed = {name for _, name, _, _ in string.Formatter().parse(template or "") if name}
        if template is None or (given is not None and not needed <= given):
            wrong.append((code, template))
    assert wrong == []


def test_no_sentence_is_left_over() -> None:
    stated = {key.removeprefix("lost.") for key in sentences("en") if key.startswith("lost.")}
    assert stated - told().keys() == set()
