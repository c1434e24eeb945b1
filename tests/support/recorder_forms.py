"""Rewrites dumps that Gloo wrote into the forms that other back ends and versions would write."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tree = dict[str, Any]


def pickles(folder: Path) -> dict[int, Tree]:
    """The pickled dumps of a folder by rank."""
    found = {int(p.name.rpartition("_")[2]): p for p in folder.glob("trace_*")}
    return {rank: pickle.loads(path.read_bytes()) for rank, path in sorted(found.items())}


def like_nccl(trees: dict[int, Tree], groups: dict[str, list[int]]) -> dict[int, Tree]:
    """Members listed, states told, as NCCL's dumps are."""
    done = _completed(trees, groups)
    for rank, tree in trees.items():
        tree["pg_config"] = {
            name: {"name": name, "desc": "", "ranks": str(of)}
            for name, of in groups.items()
            if rank in of
        }
        tree.pop("pg_status", None)
        for entry in tree["entries"]:
            entry["profiling_name"] = entry["profiling_name"].replace("gloo:", "nccl:")
            is_done = entry["record_id"] in done[rank]
            entry["state"] = "completed" if is_done else "started"
            entry["retired"] = is_done
    return trees


def _completed(trees: dict[int, Tree], groups: dict[str, list[int]]) -> dict[int, set[int]]:
    """Record numbers of the calls that can have been completed: all members issued them alike.

    What stands behind one that cannot was never begun. Members without a dump have issued all but
    the last calls that others of theirs did.
    """
    calls: dict[tuple[str, int], dict[int, str]] = {}
    last: dict[str, int] = {}
    for rank, tree in trees.items():
        for entry in tree["entries"]:
            key = (entry["process_group"][0], entry["collective_seq_id"])
            said = entry["profiling_name"].rpartition(":")[2]
            if said == "all_reduce":
                said += f" {entry['input_sizes']} {entry['input_dtypes']}"
            calls.setdefault(key, {})[rank] = said
            last[key[0]] = max(last.get(key[0], 0), key[1])
    done: dict[int, set[int]] = {}
    for rank, tree in trees.items():
        found = done[rank] = set()
        for entry in tree["entries"]:
            group, seq = entry["process_group"][0], entry["collective_seq_id"]
            issued = calls[group, seq]
            absent = [
                r
                for r in groups[group]
                if (r not in trees and seq == last[group])
                or (r in trees and r not in issued and _last(trees[r], group) < seq)
            ]
            if absent or len(set(issued.values())) > 1:
                break
            found.add(entry["record_id"])
    return done


def _last(tree: Tree, group: str) -> int:
    numbers = [e["collective_seq_id"] for e in tree["entries"] if e["process_group"][0] == group]
    return max(numbers, default=0)


def groups(folder: Path) -> dict[str, list[int]]:
    """The process groups of a recorded job."""
    found: dict[str, list[int]] = json.loads((folder / "truth.json").read_text())["groups"]
    return found


def shifted(trees: dict[int, Tree]) -> dict[int, Tree]:
    """Half of the ranks have recorded other things before."""
    for rank, tree in trees.items():
        for entry in tree["entries"]:
            entry["record_id"] += 37 * (rank % 2)
    return trees


def as_list(trees: dict[int, Tree]) -> dict[int, Any]:
    """Torch 2.2: a bare list of entries."""
    return {rank: [_old(e) for e in tree["entries"]] for rank, tree in trees.items()}


def as_1_4(trees: dict[int, Tree]) -> dict[int, Any]:
    """Torch 2.3."""
    for tree in trees.values():
        tree["version"] = "1.4"
        tree["entries"] = [_old(e) for e in tree["entries"]]
        tree.pop("pg_status", None)
    return trees


def _old(entry: Tree) -> Tree:
    new = ("process_group", "is_p2p", "input_dtypes", "output_dtypes", "p2p_seq_id")
    old = {key: value for key, value in entry.items() if key not in new}
    old["seq_id"] = old.pop("collective_seq_id")
    old["time_created_us"] = old.pop("time_created_ns") // 1000
    return old


def mixed(trees: dict[int, Tree]) -> dict[int, Tree]:
    """Ranks run different versions of torch."""
    for rank, tree in trees.items():
        tree["version"] = ("2.4", "2.9", "2.10")[rank % 3]
    return trees


def written(
    trees: dict[int, Any], folder: Path, name: str = "trace_{}", *, as_json: bool = False
) -> Path:
    """Write dumps."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, tree in trees.items():
        path = folder / name.format(rank)
        if as_json:
            for entry in tree["entries"] if isinstance(tree, dict) else tree:
                entry.pop("frames", None)
            path.write_text(json.dumps(tree, sort_keys=True))
        else:
            path.write_bytes(pickle.dumps(tree, protocol=2))
    return folder


def _kept(folder: Path, to: Path, pattern: str) -> Path:
    to.mkdir(parents=True, exist_ok=True)
    for file in folder.glob(pattern):
        shutil.copy(file, to / file.name)
    return to


FORMS: dict[str, Callable[[Path, Path], Path]] = {
    "both forms": lambda f, t: _kept(f, _kept(f, t, "trace_*"), "json_*"),
    "pickle": lambda f, t: _kept(f, t, "trace_*"),
    "json": lambda f, t: _kept(f, t, "json_*"),
    "like NCCL": lambda f, t: written(like_nccl(pickles(f), groups(f)), t),
    "like NCCL, json": lambda f, t: written(
        like_nccl(pickles(f), groups(f)), t, "rank{}.json", as_json=True
    ),
    "shifted": lambda f, t: written(shifted(pickles(f)), t),
    "like NCCL, shifted": lambda f, t: written(shifted(like_nccl(pickles(f), groups(f))), t),
    "list": lambda f, t: written(as_list(pickles(f)), t, "nccl_trace_rank_{}"),
    "1.4": lambda f, t: written(as_1_4(pickles(f)), t),
    "like NCCL, 1.4": lambda f, t: written(as_1_4(like_nccl(pickles(f), groups(f))), t),
    "like NCCL, list": lambda f, t: written(as_list(like_nccl(pickles(f), groups(f))), t),
    "mixed": lambda f, t: written(mixed(pickles(f)), t, "gpu-07.cluster_trace_{}"),
    "like NCCL, hosts": lambda f, t: written(
        like_nccl(pickles(f), groups(f)), t, "node12-3_nccl_trace_rank_{}"
    ),
}
