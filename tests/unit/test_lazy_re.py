"""Patterns that are compiled when they are first asked something."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import pkgutil
import re
from pathlib import Path

import pytest

import unhang
from unhang import lazy_re


def test_it_answers_as_the_compiled_pattern_does() -> None:
    text, flags = r"(?P<word>[a-z]+)\d", re.IGNORECASE
    lazy, compiled = lazy_re.compile(text, flags), re.compile(text, flags)
    for line in ("Rank3", "", "3 ranks of b2"):
        assert lazy.findall(line) == compiled.findall(line)
        assert lazy.sub(r"\g<word>", line) == compiled.sub(r"\g<word>", line)
    for fact in ("pattern", "flags", "groups", "groupindex"):
        assert getattr(lazy, fact) == getattr(compiled, fact)
    assert lazy == lazy_re.compile(text, flags) != lazy_re.compile(text)
    assert [found.re for found in lazy.finditer("b2")] == [lazy]
    assert lazy_re.compile(rb"\d").findall(b"12") == [b"1", b"2"]


def test_it_can_be_copied_and_sent() -> None:
    asked = lazy_re.compile("a+")
    assert asked.match("aa")
    for other in (copy.deepcopy(asked), pickle.loads(pickle.dumps(asked))):
        assert other.fullmatch("aaa")


def test_an_unsound_text_is_refused_at_the_first_use() -> None:
    unsound = lazy_re.compile("(")
    with pytest.raises(re.error):
        unsound.match("")


def test_every_pattern_of_the_package_is_sound() -> None:
    folder = Path(unhang.__file__).parent
    modules = [
        info.name
        for info in pkgutil.walk_packages([str(folder)], "unhang.")
        if not info.name.startswith(("unhang.callbacks", "unhang.lab", "unhang.probe", "unhang.__"))
    ]
    for name in modules:
        importlib.import_module(name)
    lazy = [kept for kept in gc.get_objects() if type(kept).__name__ == "_Lazy"]
    assert len(lazy) > 900
    assert {kept.pattern for kept in lazy if not _sound(kept)} <= {"("}  # that of the test above


def _sound(kept: re.Pattern[str]) -> bool:
    try:
        return kept.groups >= 0
    except re.error:
        return False
