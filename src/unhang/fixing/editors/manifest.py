"""Sets variables and flags in YAML that starts containers: Kubernetes, Compose, SkyPilot.

A manifest says a variable in one of three ways: `- name: A` with `value: "1"`, `A: 1`, `- A=1`.
Containers of one image (master and workers of a PyTorchJob) belong to one job and get it together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from unhang import lazy_re as re
from unhang.fixing.editors.yaml import compose, end_of, line_end, scalar
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.heredocs import Heredoc
from unhang.linting.readers.words import note_programs

_STARTED = frozenset({"command", "commands", "args", "run", "entrypoint", "script"})
_HOLDERS = frozenset({"env", "envs", "environment", "env_vars"})


@dataclass(frozen=True, slots=True)
class _VariablePlace:
    """A variable's value, or a list of variables, with the image of its container."""

    node: yaml.Node
    image: str | None
    name: str = ""


def set_variable(
    text: str, name: str, raw: str, *, newline: str = "\n", guard: Guard = accept
) -> str:
    """Return the manifest with the variable set in every container of the job.

    Raises:
        Refusal: it does not parse, has no list of variables, or has several jobs' lists.
    """
    roots = compose(text)
    said = [place for root in roots for place in _said(root, name, None)]
    if said:
        _refuse_differing(said, name, raw)
        guard(said[0].node.value.removeprefix(f"{name}="))
        changed = _replace(text, said, name, raw)
    else:
        holders = [place for root in roots for place in _holders(root, None)]
        if not holders:
            raise Refusal(f"it has no list of variables (`env:`); add one with {name}={raw}")
        _refuse_several(holders, name, raw)
        changed = text
        for place in reversed(holders):
            changed = _add(changed, place.node, name, raw, newline)
    _prove(text, changed, {name, raw, f"{name}={raw}"})
    return changed


def lists_variables(text: str) -> bool:
    """Whether any container of the manifest has a list of variables."""
    return any(True for root in compose(text) for _ in _holders(root, None))


def set_flag(
    text: str,
    name: str,
    raw: str | None,
    framework: str,
    *,
    newline: str = "\n",
    guard: Guard = accept,
) -> str:
    """Return the manifest with `--name raw` in every command of words that starts the framework.

    Raises:
        Refusal: a command says it twice, or is not written plainly.
    """
    changed, came = text, {f"--{name}", raw or ""}
    for words in reversed(word_lists(text, framework)):
        said = [i for i, w in enumerate(words) if _flag(w.value) == _flag(f"--{name}")]
        if any(w.style in ("|", ">") for w in words) or len(said) > 1:
            raise Refusal(f"line {words[0].start_mark.line + 1}: set --{name} there by hand")
        if not said:
            changed = _append(changed, words[-1], [f"--{name}", *([raw] if raw else [])], newline)
            continue
        node = words[said[0]]
        spelled, sign, old = node.value.partition("=")
        if not sign and raw is not None and said[0] + 1 < len(words):
            node = words[said[0] + 1]
            old = node.value
        if raw is None or old == raw:
            continue
        guard(old)
        new = f"{spelled}={raw}" if sign else raw
        came.add(new)
        start, end = node.start_mark.index, node.end_mark.index
        changed = changed[:start] + json.dumps(new) + changed[end:]
    _prove(text, changed, came)
    return changed


def word_lists(text: str, framework: str) -> list[list[yaml.ScalarNode]]:
    """The commands of containers, word by word, that start a framework."""
    found = {}
    for root in compose(text):
        for node in _below_all(root):
            own = {key.value: value for key, value in _pairs(node)}
            parts = [own[key] for key in ("entrypoint", "command", "args") if key in own]
            if not parts or not all(isinstance(part, yaml.SequenceNode) for part in parts):
                continue
            words = [word for part in parts for word in part.value]
            joined = " ".join(str(word.value) for word in words)
            document = SettingsDocument(name="")
            note_programs(document, joined)
            if joined.startswith("--") and framework in re.findall(r"\w+", _image(node, "") or ""):
                document.programs.add(framework)  # The image knows what to start with them.
            # What a shell runs is a script, not words.
            plain = all(isinstance(w, yaml.ScalarNode) and " " not in w.value for w in words)
            if plain and framework in document.programs:
                found[words[-1].start_mark.index] = words
    return [found[at] for at in sorted(found)]


def _flag(word: str) -> str:
    return word.partition("=")[0].replace("_", "-")


def _below_all(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    for inner in _below(node):
        yield from _below_all(inner)


def _append(text: str, last: yaml.ScalarNode, words: Sequence[str], newline: str) -> str:
    """More words behind the last one, in lines of their own or in the same brackets."""
    line = text.rfind("\n", 0, last.start_mark.index) + 1
    head = text[line : last.start_mark.index]
    written = [words[0], *map(json.dumps, words[1:])]
    if head.strip() != "-":
        end = last.end_mark.index
        return text[:end] + "".join(f", {json.dumps(word)}" for word in words) + text[end:]
    at = line_end(text, last.end_mark.index)
    return text[:at] + "".join(f"{newline}{head}{word}" for word in written) + text[at:]


def find_scripts(text: str) -> Iterator[Heredoc]:
    """Yield the commands that a manifest holds as text, with their places in it.

    A block is a script; a value in one line is a command where it is plain or quoted without
    escapes. Lists of words are none.
    """
    try:
        roots = compose(text)
    except Refusal:
        return
    found = {id(n): n for root in roots for n in _commands(root, within=False)}
    for node in sorted(found.values(), key=lambda n: n.start_mark.index):
        start, end = node.start_mark.index, node.end_mark.index
        if node.style in ("|", ">"):
            start = text.find("\n", start) + 1
        elif node.style in ("'", '"'):
            start, end = start + 1, end - 1
            if "\\" in text[start:end] or "''" in text[start:end]:
                continue
        yield Heredoc(name="script", start=start, end=end, line=text.count("\n", 0, start) + 1)


def _commands(node: yaml.Node, *, within: bool) -> Iterator[yaml.ScalarNode]:
    """Values with blanks in them, below a key that holds what is started."""
    if isinstance(node, yaml.ScalarNode):
        if within and re.search(r"\S\s+\S", node.value):
            yield node
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = key.value in _STARTED or (within and isinstance(value, yaml.SequenceNode))
            yield from _commands(value, within=inner)
    else:
        for item in node.value:
            yield from _commands(item, within=within)


def _pairs(node: yaml.Node) -> list[tuple[Any, Any]]:
    return list(node.value) if isinstance(node, yaml.MappingNode) else []


def _below(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from (value for _, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _image(node: yaml.Node, above: str | None) -> str | None:
    own = (v.value for k, v in _pairs(node) if k.value in ("image", "image_id"))
    return next((str(image) for image in own), above)


def _said(node: yaml.Node, name: str, image: str | None) -> Iterator[_VariablePlace]:
    image = _image(node, image)
    pairs = {key.value: value for key, value in _pairs(node) if isinstance(key.value, str)}
    named = pairs.get("name")
    if named is not None and named.value == name:
        if not isinstance(pairs.get("value"), yaml.ScalarNode):
            raise Refusal(f"line {node.start_mark.line + 1}: {name} has no plain value")
        yield _VariablePlace(pairs["value"], image)
        return
    if isinstance(pairs.get(name), yaml.ScalarNode):
        yield _VariablePlace(pairs[name], image)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if isinstance(item, yaml.ScalarNode) and item.value.startswith(f"{name}="):
                yield _VariablePlace(item, image, name)
    for inner in _below(node):
        yield from _said(inner, name, image)


def _holders(node: yaml.Node, image: str | None) -> Iterator[_VariablePlace]:
    image = _image(node, image)
    for key, value in _pairs(node):
        if key.value in _HOLDERS and value.value and not isinstance(value, yaml.ScalarNode):
            yield _VariablePlace(value, image)
        else:
            yield from _holders(value, image)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _holders(item, image)


def _refuse_several(places: Sequence[_VariablePlace], name: str, raw: str) -> None:
    """Several lists are one job's only where they share an image."""
    if len(places) > 1 and (len({p.image for p in places}) > 1 or places[0].image is None):
        lines = ", ".join(str(p.node.start_mark.line + 1) for p in places)
        raise Refusal(
            f"it has {len(places)} lists of variables (lines {lines}): add {name}={raw} to those"
            " of the training"
        )


def _refuse_differing(places: Sequence[_VariablePlace], name: str, raw: str) -> None:
    values = {place.node.value for place in places}
    if len(values) > 1:
        lines = ", ".join(str(p.node.start_mark.line + 1) for p in places)
        raise Refusal(f"lines {lines} set {name} to different values: set it to {raw} by hand")
    _refuse_several(places, name, raw)


def _replace(text: str, places: Sequence[_VariablePlace], name: str, raw: str) -> str:
    for place in sorted(places, key=lambda p: p.node.start_mark.index, reverse=True):
        start, end = place.node.start_mark.index, place.node.end_mark.index
        if text[start : start + 1] in ("&", "*", "!", "|", ">"):
            line = place.node.start_mark.line + 1
            raise Refusal(f"line {line}: {name} is not a plain value; set it to {raw} by hand")
        new = json.dumps(raw)
        if place.name:
            new = f'"{name}={raw}"' if text[start] in "\"'" else f"{name}={raw}"
        elif text[start] not in "\"'":
            new = scalar(raw)
        text = text[:start] + new + text[end:]
    return text


def _add(text: str, holder: yaml.Node, name: str, raw: str, newline: str) -> str:
    if getattr(holder, "flow_style", False):
        line = holder.start_mark.line + 1
        raise Refusal(f"line {line}: add {name}={raw} to this list by hand")
    at = line_end(text, end_of(text, holder))
    if isinstance(holder, yaml.MappingNode):
        indent = " " * holder.value[0][0].start_mark.column
        lines = [f"{indent}{name}: {scalar(raw)}"]
    else:
        # The dash stands left of the first item.
        first = holder.value[0]
        head = text[text.rfind("\n", 0, first.start_mark.index) + 1 : first.start_mark.index]
        indent = head[: len(head) - len(head.lstrip(" "))]
        if isinstance(first, yaml.MappingNode):
            inner = " " * first.start_mark.column
            lines = [f"{indent}- name: {name}", f"{inner}value: {json.dumps(raw)}"]
        else:
            lines = [f"{indent}- {name}={raw}"]
    return text[:at] + "".join(newline + line for line in lines) + text[at:]


def _prove(before: str, after: str, wanted: set[str]) -> None:
    """Only the setting's own words may have come or gone."""
    old, new = (Counter(leaves(compose(text))) for text in (before, after))
    came = {leaf for leaf in (new - old) if leaf not in ("name", "value")}
    gone = old - new
    if not came <= wanted or len(gone) > 1:
        raise Refusal(f"the place of {min(wanted, key=len)} is too complex to change safely")


def leaves(nodes: Sequence[yaml.Node | None]) -> Iterator[str]:
    """Every key and value of nodes, as text; what aliases repeat, once."""
    open_, seen = list(nodes), set[int]()
    while open_:
        node = open_.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield str(node.value)
        elif isinstance(node, yaml.MappingNode):
            open_.extend(part for pair in node.value for part in pair)
        else:
            open_.extend(node.value)
