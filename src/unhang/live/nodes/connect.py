"""Finds who judges this node: the monitor here, or another node; and opens the way to it."""

from __future__ import annotations

import os
from collections.abc import Callable

from unhang.errors import UsageError
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.losses import Loss
from unhang.live.messages.policy import Policy
from unhang.live.messages.request import ABORT, RunRequest
from unhang.live.nodes.addresses import TOKEN, address_of, is_secure
from unhang.live.nodes.collector import Collector
from unhang.live.nodes.follower import Follower
from unhang.live.nodes.http_carrier import HttpCarrier
from unhang.live.nodes.interfaces import Hub, Judge
from unhang.live.nodes.leader import Leader
from unhang.live.nodes.shared_folder import FolderCarrier, FolderHub
from unhang.live.nodes.uplink import UplinkThread
from unhang.live.run_folder.layout import RunFolder


def find_judge(request: RunRequest, folder: RunFolder, lose: Callable[[Loss], None]) -> Judge:
    """The judge of this node.

    Args:
        request: says where it is.
        folder: the run folder of this node.
        lose: told what cannot be seen or done.
    """
    if request.node_rank > 0 and request.collector is not None:
        carrier = HttpCarrier(request.collector, os.environ.get(TOKEN, ""), request.host)
        return Follower(UplinkThread(carrier, folder, request.host, lose))
    if request.node_rank > 0 and request.shared is not None:
        shared = FolderCarrier(request.shared, request.host)
        return Follower(UplinkThread(shared, folder, request.host, lose))
    policy = Policy(
        timeouts=request.timeouts.mode,
        limit_ms=request.timeouts.limit_ms,
        abort=request.on_hang == ABORT,
        patience_s=request.patience_s,
    )
    # Dumps and captures of an agent that died before us keep their numbers.
    return Leader(Monitor(policy), _hub(request, folder, lose), folder.last_dump(), lose)


def _hub(request: RunRequest, folder: RunFolder, lose: Callable[[Loss], None]) -> Hub | None:
    if request.collector is not None:
        try:
            return Collector(
                folder,
                *address_of(request.collector),
                token=os.environ.get(TOKEN, ""),
                own=request.host,
                tls=is_secure(request.collector),
            )
        except UsageError as error:  # the port was free a moment ago
            lose(Loss.of("collector_unheard", why=str(error)))
            return None
    if request.shared is not None:
        return FolderHub(request.shared, folder, lose, own=request.host)
    if (request.nodes or 1) > 1:
        lose(Loss.of("one_node_only", nodes=request.nodes or 1))
    return None
