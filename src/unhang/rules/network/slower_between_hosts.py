"""Steps are much slower over sockets between hosts than without them, and nothing failed.

## What it finds
NCCL moves data between hosts over TCP sockets, the job steps, and a file of another run prints the
same measure of speed three times better or more, and is named as the run on one host. Or the job
itself prints that it uses less than a hundredth of what its GPUs can do (MFU).

## Why it hangs
Nothing hangs yet: every step waits for the network, with the GPUs at 100 % of what `nvidia-smi`
counts. A larger collective, or a limit that was set for a fast network, then times out.

## When it stays quiet
Where ranks wait in a call that does not end, something failed, or the job was stopped or came to
its end. A speed alone says nothing, however low; nor does another run that steps as fast, that
goes over sockets too, or whose file does not say that it ran on one host.

## How to confirm
`all_reduce_perf` from nccl-tests over two hosts, against the speed of the link; the same job with
`NCCL_DEBUG=INFO` on one host.

## What to do
Give the container the RDMA devices and libraries, unset `NCCL_IB_DISABLE`; else move less: shard
within the host only, accumulate gradients, compress them.

## References
NCCL documentation, `NCCL_IB_DISABLE`, `NCCL_NET`; `src/transport/net_socket.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.events import StepsTimed, TransportUsed
from unhang.model.rule import Cause, Fact, Finding, Incident, Message, Status, Strength, rule, say
from unhang.rules.network import sockets_used
from unhang.rules.shared import order

_MUCH = 3.0
_LEAST = 3
"""Values of a measure; the first steps are slow everywhere."""
_ONE_HOST = re.compile(
    r"(?<![a-z0-9])(?:single|one|1)[ _.-]?(?:node|host|machine|pod|server)|(?:local|alone|solo)"
    r"(?![a-z])|no[ _-]?(?:net|dist)",
    re.IGNORECASE,
)
_IDLE = 0.01
"""Share of its arithmetic that a GPU uses which waits nearly all the time."""


@rule(
    "NET016",
    "slower-between-hosts",
    cause=Cause.BANDWIDTH_LOW,
    needs={Fact.NCCL_INFO},
    status=Status.PREVIEW,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for the measure that differs most."""
    sockets = [t for t in incident.all(TransportUsed) if sockets_used.is_socket(t)]
    over = incident.failures or incident.calls or order.stops(incident) or incident.finished
    if over or not sockets_used.cross_hosts(sockets):
        return
    files = {t.source.artifact for t in sockets}
    timed = incident.all(StepsTimed)
    here = [t for t in timed if t.source.artifact in files and t.count >= _LEAST]
    there = [t for t in timed if t.source.artifact not in files and _is_of_one_host(t)]
    pairs = [(_ratio(slow, fast), slow, fast) for slow in here for fast in there]
    ratio, slow, fast = max(pairs, key=lambda pair: pair[0], default=(0.0, None, None))
    idle = next((t for t in here if t.measure.endswith("mfu") and 0 < t.median < _IDLE), None)
    if slow is not None and fast is not None and ratio >= _MUCH:
        yield check.finding(
            Strength.SUPPORTS,
            claim=say(
                "NET016.claim",
                "steps are {ratio:.1f} times slower over TCP sockets between hosts than in"
                " {other} ({measure})",
                ratio=ratio,
                other=fast.source.artifact.rpartition("/")[2],
                measure=slow.measure,
            ),
            why=_why(),
            evidence=[sockets[0], slow, fast],
        )
    elif idle is not None:
        yield check.finding(
            Strength.SUPPORTS,
            claim=say(
                "NET016.claim_idle",
                "data goes over TCP sockets between hosts, and the GPUs use {percent:.2f} % of"
                " what they can compute",
                percent=idle.median * 100,
            ),
            why=_why(),
            evidence=[sockets[0], idle],
        )


def _why() -> Message:
    return say(
        "NET016.why",
        "NCCL found no RDMA device and took sockets, ten to a hundred times slower; every step"
        " waits for them.",
    )


def _is_of_one_host(timed: StepsTimed) -> bool:
    """Whether whoever kept the file says that it is of a run within one host."""
    return _ONE_HOST.search(timed.source.artifact.rpartition("/")[2]) is not None


def _ratio(slow: StepsTimed, fast: StepsTimed) -> float:
    """How many times slower one is by a measure that both print; 0 where it tells nothing."""
    if slow.measure != fast.measure or min(slow.median, fast.median) <= 0:
        return 0.0
    return slow.median / fast.median if slow.falls else fast.median / slow.median
