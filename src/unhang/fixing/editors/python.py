"""Sets keyword arguments of calls in Python code: everything else in the file stays as it is.

The parser tells where each argument begins and ends; only those characters change. The new text is
parsed again, and refused unless it differs in the wanted keyword alone.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal

_LINE_END = re.compile(r"\r\n|\n|\r")


def parse(text: str) -> ast.Module:
    """The tree of a program.

    Raises:
        Refusal: it does not parse.
    """
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise Refusal(f"it does not parse: line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refusal("it does not parse") from error


def calls(tree: ast.AST, names: Collection[str]) -> list[ast.Call]:
    """Calls of functions or classes by the last part of their name, in the order of the text."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n) in names]
    return sorted(found, key=lambda call: (call.lineno, call.col_offset))


def called(call: ast.Call) -> str:
    """The last part of the name of what is called; empty where it has none."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def argument(holder: ast.expr, name: str) -> ast.expr | None:
    """The value of a keyword of a call, or of a key of a dictionary."""
    match holder:
        case ast.Call(keywords=keywords):
            return next((k.value for k in keywords if k.arg == name), None)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    return value
        case _:
            pass
    return None


def assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """What the module assigns to a name, once; None where it does not, or in several places."""
    found = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return found[0] if len(found) == 1 else None


def spread(tree: ast.Module, call: ast.expr) -> ast.expr | None:
    """The one dictionary of the module that a call takes over (`f(**options)`); else None."""
    keywords = call.keywords if isinstance(call, ast.Call) else []
    names = [k.value for k in keywords if k.arg is None]
    found = assigned(tree, names[0].id) if [type(n) for n in names] == [ast.Name] else None  # type: ignore[attr-defined]
    plain = isinstance(found, ast.Dict) or (isinstance(found, ast.Call) and called(found) == "dict")
    return found if plain else None


def set_argument(
    text: str,
    holder: ast.expr,
    path: Sequence[str],
    source: str,
    *,
    guard: Guard = accept,
) -> str:
    """Return the text with one keyword of a call (or key of a dictionary) set.

    Args:
        text: the program, of which `holder` is a node.
        holder: a call or a dictionary.
        path: the keyword; more than one part where dictionaries are nested in it.
        source: the value, as Python.
        guard: is told the value that is replaced.

    Raises:
        Refusal: the value is computed, or the place is not plain enough.
    """
    name, *deeper = path
    present = argument(holder, name)
    if present is not None and deeper:
        return set_argument(text, _container(present, name), deeper, source, guard=guard)
    for key in reversed(deeper):
        source = f"{{{key!r}: {source}}}"
    if present is None and (taken := spread(parse(text), holder)) is not None:
        return set_argument(text, taken, path, source, guard=guard)
    if present is None:
        return _insert(text, holder, name, source)
    old = ast.get_source_segment(text, present) or ""
    if ast.unparse(present) == ast.unparse(ast.parse(source, mode="eval").body):
        return text
    if not _plain(present, source):
        raise Refusal(f"line {present.lineno} computes `{name}` ({old}): set it there to {source}")
    guard(old)
    return replace(text, present, source)


def append_item(text: str, call: ast.Call, name: str, source: str) -> str:
    """Return the text with one item more in a list that is a keyword of a call.

    Raises:
        Refusal: what stands there is no list in brackets.
    """
    present = argument(call, name)
    if present is None:
        return _insert(text, call, name, f"[{source}]")
    if not isinstance(present, ast.List):
        raise Refusal(f"line {present.lineno} computes `{name}`: add {source} there")
    if not present.elts:
        return replace(text, present, f"[{source}]")
    end = _offset(text, present.elts[-1], end=True)
    return _proved(text, f"{text[:end]}, {source}{text[end:]}")


def insert_before(text: str, node: ast.expr, line: str) -> str:
    """Return the text with a statement above the one that holds a node.

    Raises:
        Refusal: that statement does not begin a line.
    """
    holders = [
        n
        for n in ast.walk(parse(text))
        if isinstance(n, ast.stmt) and n.lineno <= node.lineno <= (n.end_lineno or n.lineno)
    ]
    start = _line_start(text, max(n.lineno for n in holders))
    rest = text[start:]
    indent = rest[: len(rest) - len(rest.lstrip(" \t"))]
    newline = "\r\n" if "\r\n" in text else "\n"
    return _proved(text, f"{text[:start]}{indent}{line}{newline}{rest}")


def with_imports(text: str, imports: Collection[str]) -> str:
    """Return the text with lines `from x import y` for names that it does not import yet."""
    tree = parse(text)
    known = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.ImportFrom, ast.Import))
        for alias in node.names
    }
    lines = [line for line in imports if line.rpartition(" ")[2] not in known]
    if not lines:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    heads = [n for n in tree.body if isinstance(n, (ast.ImportFrom, ast.Import))]
    future = [n for n in heads if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    after: ast.stmt | None = future[-1] if future else None
    if after is None and not heads and ast.get_docstring(tree) is not None:
        after = tree.body[0]
    block = "".join(line + newline for line in lines)
    if after is None:
        at = 0 if not heads else _line_start(text, heads[0].lineno)
        if not heads:
            block += newline
    else:
        at = _line_start(text, (after.end_lineno or after.lineno) + 1)
        block = newline + block
    return _proved(text, text[:at] + block + text[at:])


def source_of(text: str, node: ast.expr) -> str:
    """A node as it is written."""
    return ast.get_source_segment(text, node) or ast.unparse(node)


def plain_arguments(node: ast.expr, *above: str) -> Iterator[tuple[str, str]]:
    """Keywords of a call that are plain values, by dotted name; those of dictionaries within."""
    pairs: list[tuple[str, ast.expr]] = []
    match node:
        case ast.Call(keywords=keywords):
            pairs = [(k.arg, k.value) for k in keywords if k.arg is not None]
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    pairs.append((key.value, value))
        case _:
            pass
    for name, value in pairs:
        try:
            plain = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            plain = None
            if isinstance(value, ast.Call) and called(value) == "dict":
                yield from plain_arguments(value, *above, name)
                continue
            yield ".".join((*above, name)), ast.unparse(value)
            continue
        if isinstance(value, ast.Dict):
            yield from plain_arguments(value, *above, name)
        elif isinstance(plain, bool):
            yield ".".join((*above, name)), str(plain).lower()
        elif plain is None:
            yield ".".join((*above, name)), "null"
        else:
            yield ".".join((*above, name)), str(plain)


def _container(node: ast.expr, name: str) -> ast.expr:
    if isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and called(node) == "dict"):
        return node
    raise Refusal(f"line {node.lineno} computes `{name}`: change it where it is set")


def _plain(node: ast.expr, source: str) -> bool:
    """A literal, or a call of the same kind with literals: `timedelta(minutes=10)`."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pass
    else:
        return True
    new = ast.parse(source, mode="eval").body
    if isinstance(node, ast.Call) and isinstance(new, ast.Call) and called(node) == called(new):
        values = [*node.args, *(k.value for k in node.keywords)]
        return all(isinstance(value, ast.Constant) for value in values)
    return False


def _insert(text: str, holder: ast.expr, name: str, source: str) -> str:
    """Add a keyword as the last one, laid out as the others are."""
    if isinstance(holder, ast.Dict):
        before = source_of(text, holder.keys[-1]) if holder.keys and holder.keys[-1] else ""
        entry = f'"{name}": {source}' if before.startswith('"') else f"{name!r}: {source}"
        last: ast.AST | None = holder.values[-1] if holder.values else None
        if any(key is None for key in holder.keys):
            raise Refusal(f"line {holder.lineno} takes over another dictionary")
    elif isinstance(holder, ast.Call):
        entry = f"{name}={source}"
        inner = [*holder.args, *(k.value for k in holder.keywords)]
        last = max(inner, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0), default=None)
        if any(k.arg is None for k in holder.keywords):
            raise Refusal(f"line {holder.lineno} takes arguments from elsewhere (`**`)")
    else:
        raise Refusal(f"line {holder.lineno} is not a call")
    close = _offset(text, holder, end=True) - 1
    if last is None:
        return _proved(text, f"{text[:close]}{entry}{text[close:]}")
    end = _offset(text, last, end=True)
    between = text[end:close]
    if "#" in between and "\n" not in between.partition("#")[0]:
        # A comment belongs to the last argument: the new one follows it.
        at = text.find("\n", end)
        head = text[:end] + ("" if between.lstrip().startswith(",") else ",") + text[end:at]
        indent = _indent(text, last)
        return _proved(text, f"{head}\n{indent}{entry},{text[at:]}")
    comma = between.find(",")
    if comma >= 0:
        end += comma + 1
    if "\n" in between:
        newline = "\r\n" if "\r\n" in between else "\n"
        comma_before = "" if comma >= 0 else ","
        indent = _indent(text, last)
        return _proved(text, f"{text[:end]}{comma_before}{newline}{indent}{entry},{text[end:]}")
    joined = f" {entry}" if comma >= 0 else f", {entry}"
    return _proved(text, f"{text[:end]}{joined}{text[end:]}")


def _indent(text: str, node: ast.AST) -> str:
    """The indentation of the line on which an argument begins."""
    start = _line_start(text, getattr(node, "lineno", 1))
    line = text[start:]
    return line[: len(line) - len(line.lstrip(" \t"))]


def replace(text: str, node: ast.expr, source: str) -> str:
    """Return the text with one expression in place of another.

    Raises:
        Refusal: more than its statement would change.
    """
    start, end = _offset(text, node), _offset(text, node, end=True)
    return _proved(text, text[:start] + source + text[end:])


def _proved(before: str, after: str) -> str:
    """The new text, if it parses and nothing but one statement differs."""
    old = [ast.dump(node) for node in parse(before).body]
    new = [ast.dump(node) for node in parse(after).body]
    if len(old) == len(new) and sum(a != b for a, b in zip(old, new, strict=True)) > 1:
        raise Refusal("this place is too complex to change safely")
    return after


def _offset(text: str, node: ast.AST, *, end: bool = False) -> int:
    """Where a node begins or ends, in characters; the parser counts bytes of a line."""
    line = getattr(node, "end_lineno" if end else "lineno")
    column = getattr(node, "end_col_offset" if end else "col_offset")
    start = _line_start(text, line)
    return start + len(text[start:].encode()[:column].decode(errors="ignore"))


def _line_start(text: str, line: int) -> int:
    """The index at which a line begins, as the parser counts lines."""
    ends = _LINE_END.finditer(text)
    return next(
        (m.end() for n, m in enumerate(ends, start=2) if n == line), 0 if line < 2 else len(text)
    )
