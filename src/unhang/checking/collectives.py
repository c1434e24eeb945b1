"""Collectives whose values are known beforehand: run, timed, and compared bit for bit.

Every value is a small whole number, which all types hold exactly and every order of adding gives
the same sum of: one wrong bit shows. `torch` and `torch.distributed` are handed in: this package
does not import them.

Sizes and factors are those of nccl-tests (doc/PERFORMANCE.md): S is the larger buffer of a rank,
algbw = S / t, busbw = algbw x factor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Torch = Any
"""The module, or a tensor of it: they have no types here."""
_PERIOD = 97
_LARGEST = 2**24
"""Whole numbers up to here are exact in float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call, as one rank makes it.

    Attributes:
        torch, dist: the modules.
        numel: elements of the larger buffer.
    """

    torch: Torch
    dist: Torch
    numel: int
    rank: int
    ranks: int
    device: object

    @property
    def part(self) -> int:
        """Elements of one rank's part."""
        return max(1, self.numel // self.ranks)

    def pattern(self, numel: int, rank: int) -> Torch:
        """What a rank gives: (i mod 97 + 1) x (rank mod 13 + 1)."""
        torch = self.torch
        base = torch.arange(numel, device=self.device, dtype=torch.float32).remainder(_PERIOD) + 1
        return base * weight(rank)

    def zeros(self, numel: int) -> Torch:
        """A buffer to receive into."""
        return self.torch.zeros(numel, device=self.device)

    def total(self, numel: int) -> Torch:
        """The sum of what all ranks give."""
        total = sum(map(weight, range(self.ranks)))
        assert total * _PERIOD < _LARGEST, "sums must be exact"
        return self.pattern(numel, 0) * total


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that can be repeated, its result, and what the result must be (None = nothing)."""

    run: Callable[[], object]
    result: Torch
    expected: Torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One collective.

    Attributes:
        factor: of the number of ranks; busbw = algbw x factor.
    """

    name: str
    factor: Callable[[int], float]
    prepare: Callable[[Call], Prepared]


def weight(rank: int) -> int:
    """What tells one rank's values from another's; sums stay exact up to 20,000 ranks."""
    return rank % 13 + 1


def _all_reduce(call: Call) -> Prepared:
    given, buffer = call.pattern(call.numel, call.rank), call.zeros(call.numel)

    def run() -> None:
        buffer.copy_(given)
        call.dist.all_reduce(buffer)

    return Prepared(run, buffer, call.total(call.numel))


def _reduce(call: Call) -> Prepared:
    given, buffer = call.pattern(call.numel, call.rank), call.zeros(call.numel)

    def run() -> None:
        buffer.copy_(given)
        call.dist.reduce(buffer, dst=0)

    return Prepared(run, buffer, call.total(call.numel) if call.rank == 0 else None)


def _broadcast(call: Call) -> Prepared:
    buffer = call.pattern(call.numel, call.rank)
    return Prepared(lambda: call.dist.broadcast(buffer, src=0), buffer, call.pattern(call.numel, 0))


def _all_gather(call: Call) -> Prepared:
    given, buffer = call.pattern(call.part, call.rank), call.zeros(call.part * call.ranks)
    expected = call.torch.cat([call.pattern(call.part, other) for other in range(call.ranks)])
    return Prepared(lambda: call.dist.all_gather_into_tensor(buffer, given), buffer, expected)


def _reduce_scatter(call: Call) -> Prepared:
    whole = call.part * call.ranks
    given, buffer = call.pattern(whole, call.rank), call.zeros(call.part)
    expected = call.total(whole)[call.rank * call.part : (call.rank + 1) * call.part].clone()
    return Prepared(lambda: call.dist.reduce_scatter_tensor(buffer, given), buffer, expected)


def _all_to_all(call: Call) -> Prepared:
    whole = call.part * call.ranks
    given, buffer = call.pattern(whole, call.rank), call.zeros(whole)
    mine = slice(call.rank * call.part, (call.rank + 1) * call.part)
    expected = call.torch.cat([call.pattern(whole, other)[mine] for other in range(call.ranks)])
    return Prepared(lambda: call.dist.all_to_all_single(buffer, given), buffer, expected)


def _send_recv(call: Call) -> Prepared:
    """Each sends to the next and receives from the one before."""
    given, buffer = call.pattern(call.numel, call.rank), call.zeros(call.numel)
    before, after = (call.rank - 1) % call.ranks, (call.rank + 1) % call.ranks

    def run() -> None:
        if call.ranks == 1:
            buffer.copy_(given)
            return
        works = [call.dist.isend(given, after), call.dist.irecv(buffer, before)]
        for work in works:
            work.wait()

    return Prepared(run, buffer, call.pattern(call.numel, before))


def _ring(ranks: int) -> float:
    return (ranks - 1) / ranks


OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for operation in (
        Operation(name="all_reduce", factor=lambda n: 2 * _ring(n), prepare=_all_reduce),
        Operation(name="all_gather", factor=_ring, prepare=_all_gather),
        Operation(name="reduce_scatter", factor=_ring, prepare=_reduce_scatter),
        Operation(name="all_to_all", factor=_ring, prepare=_all_to_all),
        Operation(name="broadcast", factor=lambda _: 1.0, prepare=_broadcast),
        Operation(name="reduce", factor=lambda _: 1.0, prepare=_reduce),
        Operation(name="send_recv", factor=lambda _: 1.0, prepare=_send_recv),
    )
}
"""Every operation by its name."""


def bandwidths(name: str, size_bytes: int, seconds: float, ranks: int) -> tuple[float, float]:
    """Algbw and busbw in bytes per second.

    >>> bandwidths("all_reduce", 8_000_000, 0.001, 4)
    (8000000000.0, 12000000000.0)
    """
    algbw = size_bytes / seconds if seconds > 0 else 0.0
    return algbw, algbw * OPERATIONS[name].factor(ranks)
