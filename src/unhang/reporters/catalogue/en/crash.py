"""Sentences of the crash rules."""

SENTENCES: dict[str, str] = {
    "crash.against_long_before": (
        "the others began to wait more than half an hour after it: it is an earlier run's, if the "
        "clocks agree"
    ),
    "crash.against_stopped": "the job had been stopped from outside before",
    "crash.against_earlier_failure": "another process had failed before",
    "crash.against_late": "a collective had already timed out before",
    "CRA001.claim": "{ranks:ranks} raised an exception and left: {error}",
    "CRA001.claim_all": "{count} processes raised the same exception: {error}",
    "CRA001.claim_nobody": "a process raised an exception and left: {error}",
    "CRA001.why": (
        "A process that raised never issues the next collective. The others wait in it until "
        "their watchdog or the launcher ends them."
    ),
    "CRA001.against_communication": "ranks had failed to reach each other before the exception",
    "CRA001.against_cut": "the last line of the traceback is missing",
    "CRA001.against_joined": "the process that raised had joined the collective that is stuck",
    "CRA001.against_thread": "it was raised in a helper thread, so the process itself lived on",
    "CRA002.claim": "{ranks:ranks} ran out of host memory",
    "CRA002.claim_nobody": "a process of the job ran out of host memory",
    "CRA002.claim_killed": "{ranks:ranks} ended by SIGKILL, most likely for host memory",
    "CRA002.claim_killed_nobody": "a process ended by SIGKILL, most likely for host memory",
    "CRA002.why": (
        "The kernel ends a process by SIGKILL when memory runs out. It leaves no traceback, and "
        "the others wait for it in the next collective."
    ),
    "CRA002.why_killed": (
        "Nothing in the logs sent this SIGKILL: no launcher, no scheduler, no person. The kernel's "
        "out-of-memory killer is the usual sender."
    ),
    "CRA002.against_everybody": "all processes were killed, as a person or a scheduler does it",
    "CRA002.against_others": "other processes left with an error, and launchers kill the rest",
    "CRA002.against_only_named": (
        "nothing but its name or the time ties the killed process to this job"
    ),
    "CRA002.claim_beside": "a process on a host of the job was killed for memory",
    "CRA002.against_beside": "by its name or its time it was not one of this job",
    "CRA002.against_sender": "a person or a monitor can send SIGKILL too; the kernel log decides",
    "CRA003.claim": "{ranks:ranks} crashed with {signal}",
    "CRA003.claim_nobody": "processes crashed with {signal} ({count} seen)",
    "CRA003.why": (
        "A crash in native code leaves no Python traceback. The process never issues the next "
        "collective, and the others wait for it."
    ),
    "CRA003.against_abort": "processes also abort when their own watchdog ends them",
    "CRA004.claim": "node {host} went away",
    "CRA004.claim_nobody": "a node of the job went away",
    "CRA004.why": "All ranks of a lost node are gone at once, and the other nodes wait for them.",
    "CRA004.against": (
        "an agent also falls silent after a failure of its job, or when the network is down"
    ),
    "CRA006.claim": "data-loader workers died because shared memory (/dev/shm) is full",
    "CRA006.claim_rank": "a process ended by SIGBUS, most likely because /dev/shm is full",
    "CRA006.why": (
        "Data-loader workers hand batches over through files in /dev/shm. When it is full, the "
        "first touch of a page ends the process with a bus error."
    ),
    "CRA006.against_stopped": "the job had been stopped from outside before",
    "CRA007.claim": "{ranks:ranks} failed because a file system or a quota is full",
    "CRA007.claim_nobody": "a process failed because a file system or a quota is full",
    "CRA007.why": "The process that writes raises and leaves; the others wait for it.",
    "CRA008.claim": "{ranks:ranks} left with an error, and the logs do not say why",
    "CRA008.claim_nobody": "a process left with an error, and the logs do not say why",
    "CRA008.why": "Neither a traceback nor another reason of any process is in the logs.",
    "CRA009.claim": "data-loader workers were killed, most likely for host memory",
    "CRA009.why": (
        "Workers hold copies of the data set and prefetched batches, and are what the kernel ends "
        "first when host memory runs out."
    ),
    "CRA009.against_sender": "a person or a monitor can kill too; the kernel log decides",
    "collect.kernel_log.what": "the kernel log of the host of the killed process",
    "collect.kernel_log.how": "dmesg -T | grep -i -E 'killed process|out of memory'",
    "collect.kernel_log.decides": "whether the kernel killed it for memory, or somebody else did",
    "collect.crash_stack.what": "the stack of the crash",
    "collect.crash_stack.how": "run with PYTHONFAULTHANDLER=1, or coredumpctl info",
    "collect.crash_stack.decides": "which library crashes",
    "collect.shm_space.what": "the size of shared memory inside the container",
    "collect.shm_space.how": "df -h /dev/shm while the job runs",
    "collect.shm_space.decides": "whether /dev/shm is full or a mapped file was cut",
    "collect.rank_traceback.what": "the output of the process that left first",
    "collect.rank_traceback.how": "torchrun --log-dir logs --redirects 3 --tee 3, or @record",
    "collect.rank_traceback.decides": "the exception that ended it",
}
