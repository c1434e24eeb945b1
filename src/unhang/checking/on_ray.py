"""Starts the check of a cluster on Ray: a placement group over its nodes, a task for each rank."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from unhang.checking.baseline import compare_baseline, read_baseline
from unhang.checking.launched import Seat, host_key
from unhang.checking.verdict import judged
from unhang.engine.on_ray import cluster
from unhang.errors import UsageError
from unhang.model.preflight import CheckReport

_LIMIT_S = 1_800.0
_RESERVE_S = 120.0
_PATHS = ("job", "checkpoint")


def check_on_ray(
    address: str,
    asked: Mapping[str, Any],
    *,
    ranks: int | None = None,
    baseline: str | os.PathLike[str] | None = None,
) -> CheckReport:
    """Check the nodes of a Ray cluster; unhang must be installed on all of them.

    Args:
        address: of the cluster, `auto` = the one of this host.
        asked: arguments of `check_cluster`; its files are read on the nodes.
        ranks: on each node; None = its GPUs, or one.
        baseline: an earlier report (JSON) to compare with, read here.

    Raises:
        UsageError: there is no Ray or no cluster, or its nodes are taken by others.
    """
    if ranks is not None and ranks < 1:
        raise UsageError(f"ranks is {ranks}; expected at least 1")
    before = None if baseline is None else read_baseline(Path(baseline))
    # Tasks run in folders of their own.
    asked = {n: str(Path(v).absolute()) if v and n in _PATHS else v for n, v in asked.items()}
    with cluster(address) as ray:
        report = _on_nodes(ray, asked, ranks)
    return report if before is None else judged(compare_baseline(report, before))


def _on_nodes(ray: Any, asked: Mapping[str, Any], ranks: int | None) -> CheckReport:  # noqa: ANN401
    nodes = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")]
    counts = [ranks or int(n["Resources"].get("GPU", 0)) or 1 for n in nodes]
    if sum(counts) < 2:
        raise UsageError("--ray: the cluster has one rank; `unhang check` looks at one host")
    with_gpu = [bool(n["Resources"].get("GPU")) for n in nodes]
    group = ray.util.placement_group(
        [{"CPU": c, **({"GPU": c} if g else {})} for c, g in zip(counts, with_gpu, strict=True)],
        strategy="STRICT_SPREAD",
    )
    if not group.wait(_RESERVE_S):
        raise UsageError(
            f"--ray: the {len(nodes)} nodes do not have {max(counts)} free CPUs or GPUs each; a job"
            " that runs there must end first, or give --ranks"
        )
    try:
        places = [(b, local) for b, count in enumerate(counts) for local in range(count)]
        tasks = [_on(ray, group, b, gpu=with_gpu[b]) for b, _ in places]
        # Ray starts a process for each first: those of a node that cannot are missed by rank 0.
        ready = [task(_free_place).remote() for task in tasks]
        ray.wait(ready, num_returns=len(ready), timeout=_RESERVE_S)
        found, port = ray.get(ready[0], timeout=_RESERVE_S)
        key = os.urandom(16).hex()
        seats = [
            Seat(
                rank=rank, world=len(places), local_rank=local, local_world=counts[bundle],
                address=found, port=port, key=key, host="", host_key="",
                expected=tuple(str(n["NodeManagerHostname"]) for n in nodes),
            )
            for rank, (bundle, local) in enumerate(places)
        ]  # fmt: skip
        answers = [
            task(_take_seat).remote(seat, dict(asked))
            for task, seat in zip(tasks, seats, strict=True)
        ]
        return _report(ray, answers)
    finally:
        ray.util.remove_placement_group(group)


def _report(ray: Any, answers: Sequence[Any]) -> CheckReport:  # noqa: ANN401
    """What rank 0 found; the others have ended when it has, or are among what it found."""
    try:
        report = ray.get(answers[0], timeout=_LIMIT_S)
    except ray.exceptions.RayError as error:
        said = str(getattr(error, "cause", None) or error).strip().splitlines()[-1][:200]
        raise UsageError(f"--ray: rank 0 could not run the check: {said}") from error
    finally:
        for answer in answers:
            ray.cancel(answer, force=True)
    assert isinstance(report, CheckReport)
    return report


def _on(ray: Any, group: Any, bundle: int, *, gpu: bool) -> Any:  # noqa: ANN401
    strategies = import_module("ray.util.scheduling_strategies")
    where = strategies.PlacementGroupSchedulingStrategy(
        placement_group=group, placement_group_bundle_index=bundle
    )
    return ray.remote(num_cpus=1, num_gpus=int(gpu), max_retries=0, scheduling_strategy=where)


def _free_place() -> tuple[str, int]:
    """Where rank 0 can listen: the address by which Ray reaches this node, and a port."""
    with socket.create_server(("", 0)) as server:
        port = int(server.getsockname()[1])
    return str(import_module("ray").util.get_node_ip_address()), port


def _take_seat(seat: Seat, asked: Mapping[str, Any]) -> CheckReport | int:
    """Run as a task, on the node that the seat is for."""
    from unhang.checking import check_cluster

    own = replace(seat, host=socket.gethostname(), host_key=host_key())
    return check_cluster(own, **asked)
