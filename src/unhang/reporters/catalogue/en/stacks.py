"""Sentences about live stacks: where the ranks stand, and the rules that judge it."""

SENTENCES: dict[str, str] = {
    "event.ThreadStack": "the stack of a thread of a living process ({kind})",
    "means.ThreadStack": (
        "It shows where the process stood. Compare it with the other ranks: the one that is in no"
        " collective is the one that the others wait for."
    ),
    "label.standings": "Where the ranks stand",
    "standing.ranks": "{ranks:ranks}",
    "standing.ranks_more": "{ranks:ranks} and {count} {count:|process|processes} without a number",
    "standing.unnamed": "{count} {count:|process|processes}",
    "standing.waits": "{count:|waits|wait} for other ranks in {op}",
    "standing.waits_phase": "{count:|waits|wait} for other ranks in {op} ({phase})",
    "standing.steps": "in the step of the model",
    "standing.device": "{count:|waits|wait} for the GPU",
    "standing.works": "{phase}",
    "standing.storage": "{count:|waits|wait} for storage",
    "standing.locked": "{count:|waits|wait} for a lock, a queue or a child process",
    "standing.storage_phase": "{phase}, {count:|waits|wait} for storage",
    "standing.locked_phase": "{phase}, {count:|waits|wait} for a lock, a queue or a child process",
    "standing.collects": "{count:|collects|collect} garbage",
    "standing.code": "in code of the program",
    "standing.place": "{doing}: {frame}",
    "standing.place_short": "{doing}, called by {code}",
    "standing.place_code": "{doing}: {frame}, called by {code}",
    "standing.place_own": "{doing}: {code}",
    "label.more_standings": "… {count} more places",
    "LOC201.claim": (
        "{ranks:ranks} {count:|is|are} in {place} while {waiters:ranks} {waiting:|waits|wait}."
    ),
    "LOC201.why": (
        "Stacks of all these processes were taken: {waiters:ranks} stand in {op}, which ends only"
        " when every rank has come."
    ),
    "LOC203.claim": (
        "{ranks:ranks}: a thread keeps Python's interpreter lock in native code ({thread}) while"
        " others want it."
    ),
    "LOC203.why": (
        "Nothing else in that process can run until the native call returns, its watchdog neither."
    ),
    "LOC204.claim": (
        "{ranks:ranks} {count:|stands|stand} in the kernel, in a file system ({frame})."
    ),
    "LOC204.why": (
        "A system call on storage does not return; such a process can often not even be killed."
    ),
    "SLO201.claim_save": (
        "{ranks:ranks} {at_work:|is|are} saving a checkpoint (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_load": (
        "{ranks:ranks} {at_work:|is|are} loading a model or a checkpoint (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_data": (
        "{ranks:ranks} {at_work:|is|are} preparing data (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_eval": (
        "{ranks:ranks} {at_work:|is|are} evaluating (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_generate": (
        "{ranks:ranks} {at_work:|is|are} generating (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_logging": (
        "{ranks:ranks} {at_work:|is|are} logging (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_compile": (
        "{ranks:ranks} {at_work:|is|are} compiling or warming up (`{frame}`)"
        " while {waiters:ranks} {waiting:|waits|wait}"
    ),
    "SLO201.claim_teardown": (
        "{ranks:ranks} {at_work:|is|are} done with the training loop (`{frame}`) while"
        " {waiters:ranks} {waiting:|waits|wait} in it"
    ),
    "SLO201.why": (
        "The stacks of {count} processes were taken, and only {ranks:ranks} {at_work:|is|are} in no"
        " collective; the program's own line is {code}."
    ),
    "SLO201.against_by_name": (
        "Only the name of a function of the program tells what it does ({code})."
    ),
    "SLO201.against_no_alarm": (
        "No time-out was seen: a job that is well may look like this for a moment."
    ),
    "SLO201.against_silent": "{ranks:ranks} left no stack.",
    "DSY201.claim": (
        "{ranks:ranks} {count:|waits|wait} in {op} ({code}), the others in {other_op}"
        " ({other_code})"
    ),
    "DSY201.claim_nobody": "ranks wait in {op} ({code}) and in {other_op} ({other_code})",
    "DSY201.claim_past": (
        "{ranks:ranks} {count:|has|have} left the loop that {others:ranks} are still in, and"
        " {count:|waits|wait} in {op} ({code})"
    ),
    "DSY201.why": (
        "All observed ranks wait for others and none is at work; from `{parts_at}` on they took"
        " different ways."
    ),
    "DSY201.against_groups": "The two may belong to different process groups.",
    "collect.other_stacks.what": "the stacks of {ranks:ranks}",
    "collect.other_stacks.how": "`py-spy dump --pid PID` for each of these processes, now",
    "collect.other_stacks.decides": "whether one of them is the rank that the others wait for",
}
