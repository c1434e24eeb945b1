"""Changes one thing of a module at a time, and tells which changes no test noticed.

    make mutants AREA=verdict/ranking
    make mutants AREA=rules/locate MOST=60

An area is a module of `src/unhang`, or a folder of them; its tests lie at the same place below
`tests/unit`. A survivor is a line that no test pins: write the test, or see that the change means
the same. `docs/mutants.md` says what was found.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.machinery
import os
import random
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

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
ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "unhang"
TESTS = ROOT / "tests" / "unit"


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


def noticed(path: Path, tree: ast.Module, tests: list[str]) -> bool:
    """Whether the tests fail with the changed module; they run in a process of their own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    code = 1
    with contextlib.suppress(BaseException), Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        code = _run(path, compile(tree, path, "exec"), tests)
    os._exit(code)


def _run(path: Path, changed: types.CodeType, tests: list[str]) -> int:
    """Import what was changed in place of the file, whoever asks for it, and run the tests."""
    import faulthandler

    faulthandler.dump_traceback_later(_LIMIT_S, exit=True)
    as_written = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
        return changed if Path(loader.path).resolve() == path else as_written(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
    return int(pytest.main(["-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *tests]))


def place(area: str) -> tuple[list[Path], list[str]]:
    """The modules of an area, and the tests beside it, those that notice most in front."""
    module = SOURCES / f"{area}.py"
    if not module.exists():
        return sorted((SOURCES / area).rglob("*.py")), [str(TESTS / area)]
    folder = TESTS / Path(area).parent
    kin = folder / f"test_{module.stem}.py"
    return [module], [*([str(kin)] if kin.exists() else []), str(folder)]


def main() -> None:
    """Try them, and print the survivors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("area", help="such as verdict/ranking, rules/locate")
    parser.add_argument("--most", type=int, default=40, help="changes, drawn from all of them")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    modules, tests = place(asked.area)
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules}
    if not trees or noticed(*next(iter(trees.items())), tests):
        sys.exit(f"no module {asked.area}, or its tests fail without any change")
    if not all(noticed(path, ast.parse("1 / 0"), tests) for path in modules[:1]):
        sys.exit(f"the tests of {asked.area} do not import it from {SOURCES}")
    found = [(path, *change) for path, tree in trees.items() for change in changes(tree)]
    chosen = random.Random(asked.seed).sample(found, min(asked.most, len(found)))  # noqa: S311
    survived = 0
    for path, line, said, changed in sorted(chosen, key=lambda one: one[:2]):
        if not noticed(path, changed, tests):
            survived += 1
            print(f"{path.relative_to(ROOT)}:{line}: {said}: no test noticed", flush=True)
    print(f"{asked.area}: {survived} of {len(chosen)} survive ({len(found)} could be made)")


if __name__ == "__main__":
    main()
