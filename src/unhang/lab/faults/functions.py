"""Says when a function of the program is entered, by its name."""

from __future__ import annotations

import re
import sys
from types import CodeType, FrameType
from typing import Any

from .director import Director
from .program import is_program


def install(director: Director, names: set[str]) -> None:
    """Watch the main thread for functions whose whole name one of `names` (patterns) matches.

    The profiler of the interpreter tells, so Python code runs slower until all have come.
    """
    wanted = {name: re.compile(name) for name in names}
    others: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in others:
            return
        matching = [name for name, pattern in wanted.items() if pattern.fullmatch(code.co_name)]
        if not matching or not is_program(code.co_filename):
            others.add(code)
            return
        for name in matching:
            director.passed("function", name)
            if not director.due("function", name):
                wanted.pop(name, None)
        if not wanted:
            sys.setprofile(None)

    if wanted:
        sys.setprofile(watch)
