"""Changes one thing of a module at a time, and tells which changes no test noticed.

    PYTHONPATH=src:tests python tools/mutate.py unhang.verdict.ranking tests/unit/verdict

A survivor is a line that no test pins: write the test, or see that the change means the same.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.util
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path

_SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_LIMIT_S = 600


def changes(tree: ast.Module) -> Iterator[tuple[int, str, ast.Module]]:
    """Each change: its line, what it is, and the changed module."""
    decorators = [d for n in ast.walk(tree) for d in getattr(n, "decorator_list", ())]
    left = {id(node) for decorator in decorators for node in ast.walk(decorator)}
    for index, node in enumerate(ast.walk(tree)):
        for said, changed in _changed(node) if id(node) not in left else ():
            copied = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(copied)) if i == index)
            target.__dict__.update(changed.__dict__)
            target.__class__ = changed.__class__
            ast.fix_missing_locations(copied)
            yield getattr(node, "lineno", 0), said, copied


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPS:
            other = _SWAPS[type(op)]
            swapped = ast.Compare(left=node.left, ops=[other()], comparators=node.comparators)
            yield f"{type(op).__name__} to {other.__name__}", ast.copy_location(swapped, node)
        case ast.BoolOp(op=ast.And()):
            yield "and to or", ast.copy_location(ast.BoolOp(op=ast.Or(), values=node.values), node)
        case ast.BoolOp(op=ast.Or()):
            yield "or to and", ast.copy_location(ast.BoolOp(op=ast.And(), values=node.values), node)
        case ast.UnaryOp(op=ast.Not()):
            twice = ast.UnaryOp(op=ast.Not(), operand=ast.UnaryOp(ast.Not(), node.operand))
            yield "not dropped", ast.copy_location(twice, node)
        case ast.Constant(value=bool() as value):
            yield f"{value} to {not value}", ast.copy_location(ast.Constant(not value), node)
        case ast.Constant(value=int() | float() as number):
            other_number = 2 * number + 1
            yield f"{number} to {other_number}", ast.copy_location(ast.Constant(other_number), node)
        case _:
            return


def noticed(name: str, path: str, tree: ast.Module, tests: list[str]) -> bool:
    """Whether the tests fail with the changed module; they run in a process of their own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    code = 1
    with contextlib.suppress(BaseException), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        code = _run(name, path, tree, tests)
    os._exit(code)


def _run(name: str, path: str, tree: ast.Module, tests: list[str]) -> int:
    import faulthandler

    import pytest

    faulthandler.dump_traceback_later(_LIMIT_S, exit=True)
    module = types.ModuleType(name)
    module.__file__, module.__package__ = path, name.rpartition(".")[0]
    sys.modules[name] = module
    exec(compile(tree, path, "exec"), module.__dict__)  # noqa: S102 (our own source)
    parent, _, short = name.rpartition(".")
    setattr(importlib.import_module(parent), short, module)
    return int(pytest.main(["-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *tests]))


def main() -> None:
    """Try them, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    spec = importlib.util.find_spec(asked.module)
    assert spec is not None
    assert spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    if noticed(asked.module, spec.origin, tree, asked.tests):
        sys.exit("the tests fail without any change")
    found = list(changes(tree))
    chosen = random.Random(asked.seed).sample(found, min(asked.sample, len(found)))  # noqa: S311
    survivors = 0
    for line, said, changed in sorted(chosen, key=lambda one: one[0]):
        if not noticed(asked.module, spec.origin, changed, asked.tests):
            survivors += 1
            print(f"{spec.origin}:{line}: {said}: no test noticed", flush=True)
    print(f"{survivors} of {len(chosen)} survive ({len(found)} could be made)")


if __name__ == "__main__":
    main()
