"""Keeps the ranks of a restart from finding the addresses of the start before.

From torch 2.5 on all starts under one torchrun share a store, in which process groups write the
addresses of their ranks under the same keys each time: about every second restart then fails or
hangs (pytorch issue 135712). torch itself used to put each start's keys behind a prefix. That is
done here again, for what `init_process_group` writes: a store that the program opens by hand, and
all of the first start, are as torch makes them.

A prefix must be the same for all ranks of a start. A node's own count of restarts is not, where
nodes come and go; the number of the rendezvous is, and torchrun's agents pass it on to their ranks
when all of them are under `unhang run`.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROUND = "UNHANG_ROUND"
"""Set by the agent for its ranks: number of the rendezvous, which begins with 0."""

_WAIT = timedelta(seconds=10)
"""For the other agents, which leave the rendezvous at the same time."""


def watch_agent(rendezvous: Any) -> None:
    """Have torchrun's agent tell its ranks which start theirs is; takes `dynamic_rendezvous`."""
    handler = rendezvous.DynamicRendezvousHandler
    meet = handler.next_rendezvous

    def next_rendezvous(self: Any) -> Any:
        met = meet(self)
        os.environ.pop(ROUND, None)
        try:
            number = int(self._state_holder.state.round)
            if met.world_size == 1 or number == 0 or _all_do(met.store, met.world_size):
                os.environ[ROUND] = str(number)
        except Exception:
            return met  # the ranks start as they would have without us
        return met

    handler.next_rendezvous = next_rendezvous


def _all_do(store: Any, agents: int) -> bool:
    """Whether all agents of this round ask: the first that is sure of it decides for all."""
    if store.add("unhang/agents", 1) == agents:
        store.compare_set("unhang/all", "", "yes")
    else:
        try:
            store.wait(["unhang/all"], _WAIT)
        except RuntimeError:  # torch's own kinds are made of it
            store.compare_set("unhang/all", "", "no")
    return bool(store.get("unhang/all") == b"yes")


def watch_rank(c10d: Any) -> None:
    """Put the keys of `init_process_group` behind a prefix; takes `distributed_c10d`."""
    meet = c10d.rendezvous

    def rendezvous(url: str, *args: Any, **kwargs: Any) -> Any:
        met = meet(url, *args, **kwargs)
        prefix = _prefix(os.environ) if url.startswith(("env://", "tcp://")) else ""
        return _behind(prefix, met, c10d.PrefixStore) if prefix else met

    c10d.rendezvous = rendezvous


def _behind(prefix: str, met: Iterator[Any], store_of: Any) -> Iterator[Any]:
    for store, rank, size in met:
        yield store_of(prefix, store), rank, size


def _prefix(environ: Mapping[str, str]) -> str:
    """Of the keys of this start; empty for the first, and where the store is no agent's."""
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return ""
    start = environ.get(ROUND)
    if start is None and environ.get("GROUP_WORLD_SIZE") == "1":
        start = environ.get("TORCHELASTIC_RESTART_COUNT")
    return "" if start in (None, "", "0") else f"unhang/start{start}"
