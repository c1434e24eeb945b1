"""Sets keys in the text of a YAML file: comments, order, quotes and blank lines stay.

PyYAML tells where each node begins and ends; only those characters are replaced. It is the parser
that the frameworks read the file with, so `2:00:00` is quoted where it would become 7200. The new
text is parsed again, and refused unless it differs in the wanted value alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import yaml

from unhang import lazy_re as re
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | tuple[str, str]"
"""A node without its place: a mapping, a sequence, or a scalar's tag and text."""

_DEEPEST = 100
_MOST_NODES = 200_000


def set_key(
    text: str,
    path: Sequence[str],
    value: object,
    *,
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the text with one key set.

    Args:
        text: a YAML document.
        path: keys from the outermost inwards.
        value: a scalar or a list of scalars.
        newline: the line end of the file.
        guard: is told the value that is replaced.

    Raises:
        Refusal: the text is no YAML, or the change cannot be told from others.
    """
    root = parse(text)
    wanted = _plain_of(value)
    found = find(root, path)
    if found is not None and plain(found) == wanted:
        return text
    if found is None:
        changed = _insert(text, root, path, value, newline)
    else:
        if isinstance(found, yaml.ScalarNode):
            guard(found.value)
        changed = _replace(text, root, found, path, value)
    expected = _with(plain(root), path, wanted)
    if plain(parse(changed)) != expected:
        raise Refusal(f"the place of `{'.'.join(path)}` is too complex to change safely")
    return changed


def parse(text: str) -> yaml.MappingNode:
    """The mapping of a document, with its places.

    Raises:
        Refusal: it does not parse, or is no single mapping.
    """
    roots = compose(text)
    if len(roots) != 1:
        raise Refusal(f"it holds {len(roots)} documents, so the right one is unknown")
    root = roots[0]
    if not isinstance(root, yaml.MappingNode):
        raise Refusal("it holds no keys")
    return root


def compose(text: str) -> list[yaml.Node]:
    """All documents, with their places; what aliases repeat stays within bounds.

    Raises:
        Refusal: it does not parse, is nested too deeply, or is far longer than it looks.
    """
    try:
        roots: list[yaml.Node] = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        counts: dict[int, int | None] = {}
        if sum(_count(root, counts) for root in roots) > _MOST_NODES:
            raise Refusal("it repeats too much by aliases")
    except yaml.YAMLError as error:
        raise Refusal(f"it does not parse: {_reason(error)}") from error
    except RecursionError as error:
        raise Refusal("it is nested too deeply") from error
    return roots


def _count(node: yaml.Node, counts: dict[int, int | None]) -> int:
    """The nodes in a node, those behind an alias counted each time."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in counts:
        known = counts[id(node)]
        if known is None:
            raise RecursionError  # it holds itself
        return known
    counts[id(node)] = None
    counts[id(node)] = total = 1 + sum(_count(inner, counts) for inner in _inner(node))
    return total


def _reason(error: yaml.YAMLError) -> str:
    """One line of what the parser says, with its place."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return str(problem) if mark is None else f"line {mark.line + 1}: {problem}"


def find(root: yaml.MappingNode, path: Sequence[str]) -> yaml.Node | None:
    """The node of a path, or None.

    Raises:
        Refusal: a key stands there twice.
    """
    node: yaml.Node = root
    for key in path:
        if not isinstance(node, yaml.MappingNode):
            return None
        inner = _child(node, key)
        if inner is None:
            return None
        node = inner
    return node


def plain(node: yaml.Node, depth: int = 0) -> Plain:
    """What a node says, without its place."""
    if depth > _DEEPEST:
        raise Refusal("it is nested too deeply")
    if isinstance(node, yaml.MappingNode):
        return {_text(k): plain(v, depth + 1) for k, v in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item, depth + 1) for item in node.value]
    return (str(node.tag), str(node.value))


def scalar(value: object) -> str:
    """A value as YAML reads it back, quoted only where it must be."""
    if isinstance(value, list):
        return "[" + ", ".join(scalar(item) for item in value) + "]"
    if isinstance(value, str) and re.fullmatch(r"[\w./][\w./ -]*(?<! )", value):
        node = yaml.compose(value, Loader=yaml.SafeLoader)
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            return value
    return json.dumps(value, ensure_ascii=False)


def line_end(text: str, index: int) -> int:
    """The end of the line in which an index lies, before its line end."""
    at = text.find("\n", index)
    if at < 0:
        return len(text)
    return at - 1 if at > index and text[at - 1] == "\r" else at


def end_of(text: str, node: yaml.Node) -> int:
    """The end of what a node holds; PyYAML's own mark lies behind the blank lines after it."""
    last = node
    while last.value and isinstance(last, (yaml.MappingNode, yaml.SequenceNode)):
        if last.flow_style:
            break
        item = last.value[-1]
        key, last = item if isinstance(item, tuple) else (item, item)
        if last.start_mark.index < key.start_mark.index:  # an alias: it lies elsewhere
            return line_end(text, key.end_mark.index)
    end = int(last.end_mark.index)
    return len(text[:end].rstrip()) if isinstance(last, yaml.ScalarNode) else end


def _child(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    found = [value for name, value in node.value if _text(name) == key]
    if len(found) > 1:
        lines = ", ".join(str(value.start_mark.line + 1) for value in found)
        raise Refusal(f"`{key}` appears {len(found)} times (lines {lines})")
    return found[0] if found else None


def _text(key: yaml.Node) -> str:
    if not isinstance(key, yaml.ScalarNode):
        raise Refusal("its keys are not plain names")
    return str(key.value)


def _plain_of(value: object) -> Plain:
    node = yaml.compose(json.dumps(value), Loader=yaml.SafeLoader)
    assert node is not None, "a value is a node"
    return plain(node)


def _with(tree: Plain, path: Sequence[str], wanted: Plain) -> Plain:
    """The tree with one value set."""
    if not path:
        return wanted
    inner = tree if isinstance(tree, dict) else {}
    key, *rest = path
    return {**inner, key: _with(inner.get(key, {}), rest, wanted)}


def _replace(
    text: str, root: yaml.MappingNode, node: yaml.Node, path: Sequence[str], value: object
) -> str:
    name, line = ".".join(path), node.start_mark.line + 1
    if not isinstance(node, yaml.ScalarNode) or node.style in ("|", ">"):
        raise Refusal(f"line {line}: `{name}` is not a plain value; set it to {scalar(value)}")
    start, end = node.start_mark.index, node.end_mark.index
    if text[start : start + 1] in ("&", "!") or _uses(root, node) > 1:
        raise Refusal(
            f"line {line}: `{name}` is an anchor or an alias, and others would change with it;"
            f" set it to {scalar(value)} by hand"
        )
    gap = "" if start != end else " "
    return f"{text[:start]}{gap}{scalar(value)}{text[end:]}"


def _uses(root: yaml.Node, node: yaml.Node) -> int:
    """How often a node is said: an alias says it again."""
    seen: set[int] = set()

    def count(at: yaml.Node) -> int:
        if at is node:
            return 1
        if isinstance(at, yaml.ScalarNode) or id(at) in seen:
            return 0
        seen.add(id(at))
        return sum(count(inner) for inner in _inner(at))

    return count(root)


def _inner(node: Any) -> Iterator[yaml.Node]:  # noqa: ANN401  PyYAML's collections are untyped
    for item in node.value:
        yield item[1] if isinstance(item, tuple) else item


def _insert(
    text: str, root: yaml.MappingNode, path: Sequence[str], value: object, newline: str
) -> str:
    """Add a key at the end of the mapping that holds it, made as far as it is missing."""
    depth = len(path) - 1
    while (parent := find(root, path[:depth])) is None:
        depth -= 1
    name = ".".join(path[:depth])
    if not isinstance(parent, yaml.MappingNode):
        line = parent.start_mark.line + 1
        raise Refusal(f"line {line}: `{name}` holds a value where keys are needed")
    if _uses(root, parent) > 1 and parent is not root:
        raise Refusal(f"`{name}` is shared by an alias, and others would change with it")
    if parent.flow_style:
        return _into_flow(text, parent, path[depth:], value)
    indent = parent.value[0][0].start_mark.column
    at = line_end(text, end_of(text, parent))
    lines = _lines(path[depth:], value, indent, _unit(root))
    return text[:at] + "".join(f"{newline}{line}" for line in lines) + text[at:]


def _lines(path: Sequence[str], value: object, indent: int, unit: int) -> Iterator[str]:
    *outer, last = path
    for depth, key in enumerate(outer):
        yield f"{' ' * (indent + depth * unit)}{key}:"
    yield f"{' ' * (indent + len(outer) * unit)}{last}: {scalar(value)}"


def _unit(root: yaml.MappingNode) -> int:
    """How deep the file indents."""
    for _, value in root.value:
        if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
            return int(value.value[0][0].start_mark.column) or 2
    return 2


def _into_flow(text: str, parent: yaml.MappingNode, path: Sequence[str], value: object) -> str:
    *outer, last = path
    entry = f"{last}: {json.dumps(value, ensure_ascii=False)}"
    for key in reversed(outer):
        entry = f"{key}: {{{entry}}}"
    if parent.value:
        at = int(parent.value[-1][1].end_mark.index)
        return f"{text[:at]}, {entry}{text[at:]}"
    at = int(parent.start_mark.index) + 1
    return f"{text[:at]}{entry}{text[at:]}"
