"""From TCPStore, socket and rendezvous messages to what went wrong at start-up, and for whom.

Reads (torch 1.8 to 2.13; all forms are in `vocabulary.store_messages`)::

    [c10d] The client socket has timed out after 300s while trying to connect to (node1, 29500).
    Timed out after 601 seconds waiting for clients. 1/2 clients joined.
    [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value
        store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /…//0
    Timed out initializing process group in store based barrier on rank: 3, for key:
        store_based_barrier_key:1 (world_size=8, worker_count=7, timeout=0:30:00)
    recvValue failed on SocketImpl(fd=67, addr=[n2]:36214, remote=[n1]:43145): failed to recv, …

Traps: one refused connection is normal while rank 0 starts; "waiting for clients" counts seconds
one above the limit; who waits for an id is only the first to give up, the owner is late; a closed
connection to the store says that its host went first; `raise RendezvousTimeoutError` in a
traceback is code.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import Event, StoreFault, StoreProblem
from unhang.model.ids import Rank
from unhang.parsers.base import LineParser, place
from unhang.parsers.vocabulary.numbers import whole
from unhang.parsers.vocabulary.store_messages import FORMS
from unhang.sources.line import Line

_OWNER_OF_KEY = re.compile(r"//?(?:cuda//|cpu//\d{1,9}/|rank_)(\d{1,9})$")
"""Who writes a key: rank 0 an id of NCCL, each rank its own address for Gloo (`//cpu//0/3`)."""

_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:\.\d*)?$")
_AMOUNT = re.compile(r"(\d{1,12})\s*(m?s)$")


class StoreParser(LineParser, name="store"):
    """Parser of messages about the store and the rendezvous."""

    def feed(self, line: Line) -> Iterator[Event]:
        """Say each trouble that this line tells, once."""
        taken: list[tuple[int, int]] = []
        for pattern, meaning in FORMS:
            match = line.says(pattern, within=True)
            if match is None or _overlaps(match.span(), taken):
                continue
            taken.append(match.span())
            problem = meaning if isinstance(meaning, StoreProblem) else meaning(match[0])
            yield _fault(line, problem, match.groupdict())


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in taken)


def _fault(line: Line, problem: StoreProblem, told: dict[str, str | None]) -> StoreFault:
    key = told.get("key")
    owner = told.get("owner")
    if owner is None and key is not None:
        found = _OWNER_OF_KEY.search(key.rstrip(".,'\""))
        owner = None if found is None else found[1]
    waiter = told.get("waiter")
    return StoreFault(
        **place(line),
        problem=problem,
        waiter=line.origin.rank if waiter is None else Rank(int(waiter)),
        owner=None if owner is None else Rank(int(owner)),
        host=told.get("host"),
        port=whole(told.get("port")),
        key=key,
        joined=whole(told.get("joined")),
        expected=whole(told.get("expected")),
        timeout_ms=_limit_ms(told),
    )


def _limit_ms(told: dict[str, str | None]) -> int | None:
    """The configured limit in milliseconds, from any of its written forms."""
    clients = told.get("clients_limit")
    if clients is not None:
        return (int(clients) - 1) * 1000
    limit = told.get("limit")
    if limit is None:
        return None
    amount = _AMOUNT.match(limit)
    if amount is not None:
        return int(amount[1]) * (1 if amount[2] == "ms" else 1000)
    clock = _CLOCK.match(limit)
    if clock is None:
        return None
    return ((int(clock[1] or 0) * 60 + int(clock[2])) * 60 + int(clock[3])) * 1000
