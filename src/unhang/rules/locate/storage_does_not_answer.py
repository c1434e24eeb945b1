"""A process is stuck in the kernel, in a system call on a file system.

## What it finds
A kernel stack (`/proc/PID/stack`, the kernel's list of blocked tasks) or a native stack whose
innermost part is NFS, Lustre, Ceph, FUSE, GPFS or the block layer.

## Why it hangs
A server of the file system that is slow or gone holds up the call, and with it the rank, for
minutes or for good; the others wait in the next collective.

## When it stays quiet
When all processes are there, it names nobody: then it is the storage of the whole job.

## How to confirm
`timeout 10 ls` on the path, `dmesg | grep -i 'not responding'`, the state of the server.

## What to do
Read and write locally and copy later; give the storage administrators the host and the time.

## References
`proc_pid_stack(5)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from unhang.model.ids import NO_RANKS
from unhang.model.rule import Fact, Finding, Incident, Strength, rule, say
from unhang.model.stack_states import Doing
from unhang.rules.shared.stacks import contradicted, ranks


@rule("LOC204", "storage-keeps-a-process", needs={Fact.STACKS})
def check(incident: Incident) -> Iterator[Finding]:
    """Yield one finding for all processes that storage keeps."""
    found = [s for s in incident.stances if s.doing is Doing.STORAGE]
    held = ranks(found)
    if not held:
        return
    everybody = len(found) == len(incident.stances) > 1
    weak = everybody or contradicted(incident, held)
    yield check.finding(
        Strength.HINTS if weak else Strength.SUPPORTS,
        claim=say(
            "LOC204.claim",
            "{ranks:ranks} {count:|is|are} in the kernel, in a file-system call ({frame}).",
            ranks=held,
            count=len(held),
            frame=found[0].frame,
        ),
        why=say(
            "LOC204.why",
            "A system call on storage does not return; such a process can often not even be"
            " killed.",
        ),
        culprits=NO_RANKS if everybody else held,
        culprit_hosts=frozenset(s.host for s in found if s.host is not None),
        phase=found[0].phase,
        evidence=found,
    )
