"""A barrier ran before the ranks had chosen a GPU, so torch guessed one.

## What it finds
The warning "using GPU n to perform barrier as devices used by this process are currently unknown",
where two ranks of a host guess the same GPU, or the guess is not the rank's own.

## Why it hangs
`barrier()` on NCCL is an all-reduce of one element on a GPU. Without `set_device` or `device_id`
torch guesses from the rank; where ranks and GPUs do not line up, two ranks take one GPU, or a rank
later uses another one, and their communicators never match.

## When it stays quiet
Where every rank guesses its own local index the warning is harmless: a hint at most, and none
without a collective that is stuck.

## How to confirm
`nvidia-smi` while it hangs: two processes on one GPU.

## What to do
`torch.cuda.set_device(local_rank)` first, or `init_process_group(…, device_id=…)`;
`barrier(device_ids=[local_rank])`.

## References
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`, `barrier`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from unhang.model.events import DeviceGuessed, WorldSeen
from unhang.model.ids import Ranks
from unhang.model.rule import Cause, Fact, Finding, Incident, Strength, rule, say
from unhang.rules.shared import consequences, rivals, speakers

_USUAL = 8
"""GPUs of an ordinary host."""


@rule(
    "DEV006",
    "barrier-before-device-was-chosen",
    cause=Cause.DEVICE_MAP,
    needs={Fact.GUESSES},
    explains=consequences.OF_A_LOST_GPU,
)
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding when guesses collide and a collective is stuck."""
    guesses = incident.all(DeviceGuessed)
    collided = _collided(incident, guesses)
    if not collided or not incident.calls:
        return
    ranks: Ranks = frozenset(g.group_rank for g in collided if g.group_rank is not None)
    first = collided[0]
    against = rivals.of_errors(incident, collided, after_timeout=False)
    yield check.finding(
        Strength.SUPPORTS,
        claim=say(
            "DEV006.claim",
            "{ranks:ranks} of one host ran a barrier on the same guessed GPU {device}",
            ranks=ranks,
            device=first.device,
        ),
        why=say("DEV006.why", "Without `set_device` torch guesses the GPU from the rank."),
        rival=against,
        call=incident.calls[0],
        at=first.at,
        evidence=collided,
    )


def _collided(incident: Incident, guesses: Sequence[DeviceGuessed]) -> list[DeviceGuessed]:
    """Guesses of one GPU by several ranks of one host."""
    users = defaultdict(list)
    for guess in guesses:
        rank = guess.group_rank
        facts = None if rank is None else incident.roster.get(rank)
        host = guess.origin.host or (None if facts is None else facts.host)
        if rank is not None and (host is not None or _is_one_host(incident)):
            users[host, guess.device].append(guess)
    shared = [g for g in users.values() if len({guess.group_rank for guess in g}) > 1]
    return [guess for group in shared for guess in group]


def _is_one_host(incident: Incident) -> bool:
    """Whether ranks without a host certainly share one: few of them, or as the launcher says."""
    known = speakers.hosts(incident.events)
    size = incident.world.size
    if len(known) > 1 or size is None:
        return False
    return size <= _USUAL or any(w.local_world_size == size for w in incident.all(WorldSeen))
