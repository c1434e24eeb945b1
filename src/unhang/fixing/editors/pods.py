"""Changes memory and variables in Kubernetes manifests: in every pod, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator

import yaml

from unhang.fixing.editors import manifest as manifest_editor
from unhang.fixing.editors.manifest import leaves
from unhang.fixing.editors.yaml import compose, end_of, line_end
from unhang.fixing.limits import Guard, accept
from unhang.fixing.refusal import Refusal

_SHM = "/dev/shm"  # noqa: S108  the place itself, nothing is written there
_NAME = "dshm"
_GPU = "gpu"

Size = Callable[[str], "int | None"]


def share_memory(text: str, size: str, wanted: int, size_of: Size) -> str | None:
    """Return the manifest with a volume of memory at /dev/shm in every pod; None without pods.

    Args:
        text: one or several documents.
        size: as Kubernetes writes it.
        wanted: the same in bytes.
        size_of: reads what stands there.

    Raises:
        Refusal: it is as large already, or the manifest is not plain enough.
    """
    pods = list(_pods(text))
    if not pods:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    changes: list[tuple[int, int, str]] = []
    for pod in pods:
        container = _trainer(pod)
        mounted = _mounted(container)
        if mounted is not None:
            changes.append(_enlarged(pod, mounted, size, wanted, size_of))
            continue
        mount = [f"name: {_NAME}", f"mountPath: {_SHM}"]
        changes.append(_item(text, container, "volumeMounts", mount, newline))
        volume = [f"name: {_NAME}", "emptyDir:", "  medium: Memory", f"  sizeLimit: {size}"]
        changes.append(_item(text, pod, "volumes", volume, newline))
    return _proved(text, changes)


def set_variable(
    text: str, name: str, raw: str, *, newline: str = "\n", guard: Guard = accept
) -> str:
    """Return the manifest with the variable, in a list of its own where no container has one.

    Raises:
        Refusal: as the editor of manifests does; or it is unknown which container trains.
    """
    pods = list(_pods(text))
    if not pods or manifest_editor.lists_variables(text):
        return manifest_editor.set_variable(text, name, raw, newline=newline, guard=guard)
    entry = [f"name: {name}", f"value: {json.dumps(raw)}"]
    return _proved(text, [_item(text, _trainer(pod), "env", entry, newline) for pod in pods])


def more_memory(text: str, size_of: Size) -> str | None:
    """Return the manifest with twice the host memory for the training containers.

    Raises:
        Refusal: a limit is not a plain size.
    """
    changes: list[tuple[int, int, str]] = []
    drivers = _drivers(text)
    for pod in _pods(text):
        if pod.start_mark.index in drivers:
            continue
        resources = _get(_trainer(pod), "resources")
        for part in ("limits", "requests"):
            memory = _get(_get(resources, part), "memory")
            if not isinstance(memory, yaml.ScalarNode):
                continue
            if size_of(memory.value) is None:
                raise Refusal(
                    f"line {memory.start_mark.line + 1}: {memory.value} is not a plain size"
                )
            new = _twice(memory.value)
            changes.append((memory.start_mark.index, memory.end_mark.index, new))
    return _proved(text, changes) if changes else None


def _drivers(text: str) -> set[int]:
    """Where pods of Ray's heads begin, of those that leave the GPUs to workers beside them."""
    found: set[int] = set()
    for root in compose(text):
        for cluster in _mappings(root):
            workers = _get(cluster, "workerGroupSpecs")
            pod = _get(_get(_get(cluster, "headGroupSpec"), "template"), "spec")
            beside = isinstance(workers, yaml.SequenceNode) and bool(workers.value)
            if beside and pod is not None and not any(_GPU in leaf for leaf in leaves([pod])):
                found.add(pod.start_mark.index)
    return found


def _mappings(node: yaml.Node) -> Iterator[yaml.MappingNode]:
    open_, seen = [node], set[int]()
    while open_:
        inner = open_.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if isinstance(inner, yaml.MappingNode):
            yield inner
            open_.extend(value for _, value in inner.value)
        elif isinstance(inner, yaml.SequenceNode):
            open_.extend(inner.value)


def _twice(size: str) -> str:
    number = size.rstrip("KMGTPkibB")
    return f"{float(number) * 2:g}{size[len(number) :]}"


def _pods(text: str) -> Iterator[yaml.MappingNode]:
    """Every mapping with `containers`, in all documents; what aliases repeat, once."""
    seen = set[int]()
    for root in compose(text):
        for node in _mappings(root):
            if id(node) not in seen and isinstance(_get(node, "containers"), yaml.SequenceNode):
                seen.add(id(node))
                yield node


def _get(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _trainer(pod: yaml.MappingNode) -> yaml.MappingNode:
    """The container with the GPUs, or the only one."""
    containers = _get(pod, "containers")
    assert isinstance(containers, yaml.SequenceNode), "it is a pod"
    found = [c for c in containers.value if isinstance(c, yaml.MappingNode)]
    gpus = [c for c in found if any(_GPU in leaf for leaf in leaves([_get(c, "resources")]))]
    chosen = gpus or found
    if len(chosen) != 1:
        line = pod.start_mark.line + 1
        raise Refusal(
            f"the pod of line {line} has {len(chosen)} containers: it is unknown which one trains"
        )
    return chosen[0]


def _mounted(container: yaml.MappingNode) -> str | None:
    """The name of the volume at /dev/shm."""
    mounts = _get(container, "volumeMounts")
    for mount in mounts.value if isinstance(mounts, yaml.SequenceNode) else ():
        path, name = _get(mount, "mountPath"), _get(mount, "name")
        if path is not None and name is not None and path.value.rstrip("/") == _SHM:
            return str(name.value)
    return None


def _enlarged(
    pod: yaml.MappingNode, name: str, size: str, wanted: int, size_of: Size
) -> tuple[int, int, str]:
    volumes = _get(pod, "volumes")
    for volume in volumes.value if isinstance(volumes, yaml.SequenceNode) else ():
        own = _get(volume, "name")
        if own is None or own.value != name:
            continue
        limit = _get(_get(volume, "emptyDir"), "sizeLimit")
        if not isinstance(limit, yaml.ScalarNode):
            raise Refusal(f"the volume {name} at {_SHM} has no limit: more memory is needed")
        present = size_of(limit.value)
        if present is None or present >= wanted:
            raise Refusal(f"{_SHM} already has {limit.value}: use fewer loader processes")
        if present * 2 > wanted:
            size = _twice(limit.value)
        return limit.start_mark.index, limit.end_mark.index, size
    raise Refusal(f"the volume {name} at {_SHM} is not declared here")


def _item(
    text: str, holder: yaml.MappingNode, key: str, lines: list[str], newline: str
) -> tuple[int, int, str]:
    """One item more in a list, which is made where it is missing."""
    if holder.flow_style:
        raise Refusal(f"line {holder.start_mark.line + 1}: add {key} to this mapping by hand")
    present = _get(holder, key)
    if present is None:
        indent = " " * holder.value[0][0].start_mark.column
        at = line_end(text, end_of(text, holder))
        head = [f"{indent}{key}:"]
        dash = f"{indent}  "
    elif isinstance(present, yaml.SequenceNode) and present.value and not present.flow_style:
        at = line_end(text, end_of(text, present))
        first = present.value[0].start_mark.index
        line = text[text.rfind("\n", 0, first) + 1 : first]
        head, dash = [], line[: len(line) - len(line.lstrip(" "))]
    else:
        raise Refusal(f"line {present.start_mark.line + 1}: add to `{key}` by hand")
    body = [f"{dash}- {lines[0]}", *(f"{dash}  {line}" for line in lines[1:])]
    return at, at, "".join(newline + line for line in [*head, *body])


def _proved(text: str, changes: list[tuple[int, int, str]]) -> str:
    """The new text, if it parses and only the wanted words came or went."""
    after = text
    # From the end on; at one place, what was noted first (it is further inside) comes first.
    changes = sorted(changes, key=lambda change: change[0])
    for start, end, new in reversed(changes):
        after = after[:start] + new + after[end:]
    old, new_leaves = (Counter(leaves(compose(part))) for part in (text, after))
    gone = old - new_leaves
    if sum(gone.values()) > len(changes):
        raise Refusal("the manifest is too complex to change safely")
    return after
