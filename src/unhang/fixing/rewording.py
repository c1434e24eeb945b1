"""A keyword that a recipe changes in a program, where a configuration or a command line says it.

Configurations made for Hydra hand the same words to the same constructor: `strategy: ddp` is
`Trainer(strategy="ddp")`. Only a word that the recipe looks for is replaced, where it stands once.
"""

from __future__ import annotations

import ast

from unhang import lazy_re as re
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Fix
from unhang.settings import find_framework
from unhang.settings.tables import CodeEdit

_SAID = (
    r"""(?P<head>(?:^|(?<=[\s.])|(?<=--)){key}(?:[ \t]*:[ \t]*|[= ])["']?)"""
    r"""(?P<value>\w+)(?=["']?[ \t]*(?:\#.*)?$|["']?\s)"""
)


def reworded(text: str, fix: Fix) -> str | None:
    """The text with the other word for what a program would pass.

    Raises:
        Refusal: it stands there more than once.
    """
    framework = find_framework(fix.framework)
    recipes = () if framework is None else framework.recipes.get(fix.remedy, ())
    for edit in (edit for recipe in recipes for edit in recipe.code):
        if edit.when and len(edit.path) == 1 and edit.value[:1] in "\"'":
            new = _reworded(text, edit)
            if new is not None:
                return new
    return None


def _reworded(text: str, edit: CodeEdit) -> str | None:
    said = re.compile(_SAID.replace("{key}", edit.path[0]), re.MULTILINE)
    found = [m for m in said.finditer(text) if re.fullmatch(edit.when, f'"{m["value"]}"')]
    if len(found) > 1:
        raise Refusal(f"`{edit.path[0]}` stands there {len(found)} times: which counts is unknown")
    if not found:
        return None
    start, end = found[0].span("value")
    return f"{text[:start]}{ast.literal_eval(edit.value)}{text[end:]}"
