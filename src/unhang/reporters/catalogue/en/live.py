"""Sentences of the judge while the job lives: notes in `events.jsonl`, and claims."""

SENTENCES: dict[str, str] = {
    "live.attached": "{ranks:ranks} on {host} are watched",
    "live.phase": "{ranks:ranks} {count:|is|are} in phase {phase}",
    "live.governed": "The limit of all process groups of {ranks:ranks} is now {limit:ms}",
    "live.exited": "{ranks:ranks} {count:|has|have} ended",
    "live.failed": "{ranks:ranks} {count:|has|have} failed: {told}",
    "live.finished": "The command has ended with exit code {code}",
    "live.failed_first": (
        "The command has ended with exit code {code}; {ranks:ranks} failed first"
    ),
    "live.lost": "{text}",
    "live.host_silent": (
        "{host} with {ranks:ranks} is not heard any more; nothing is held against them"
    ),
    "live.resumed": "{ranks:ranks} {count:|goes|go} on after {waited:s}",
    "live.gone": (
        "{ranks:ranks} {count:|is|are} gone{told}, and {victims:ranks} {waiting:|waits|wait} for"
        " {count:|it|them} in {op}"
    ),
    "live.raised": (
        "an exception ended {ranks:ranks}{told}, and {victims:ranks} {waiting:|waits|wait} for"
        " {count:|it|them} in {op}"
    ),
    "live.left": (
        "{ranks:ranks} {count:|has|have} finished, and {victims:ranks} still"
        " {waiting:|waits|wait} for {count:|it|them} in {op}"
    ),
    "live.stopped": (
        "the {count:|process|processes} of {ranks:ranks} {count:|is|are} stopped (SIGSTOP or a"
        " debugger) for {still:s}, and {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.gil_kept": (
        "{ranks:ranks} {count:|has|have} run no Python for {still:s}: native code keeps the"
        " interpreter lock, last seen at {place}; {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.uninterruptible": (
        "the kernel has kept {ranks:ranks} for {still:s} (state D: storage or a device), last seen"
        " at {place}; {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.silent": (
        "{ranks:ranks} {count:|has|have} not been heard for {still:s}, last seen at {place};"
        " {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.asleep": (
        "nothing of {ranks:ranks} moves for {still:s} (no CPU time, no bytes, no step) at {place},"
        " while {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.mismatch": "{all:ranks} wait in different calls under one number: {ops:ops}",
    "live.mismatch_odd": (
        "{ranks:ranks} issued another call than {victims:ranks} (number {seq} of the group);"
        " none of them can complete"
    ),
    "live.circle": "{all:ranks} wait for each other in calls of different process groups",
    "live.circle_odd": (
        "{ranks:ranks} and {victims:ranks} wait for each other in different calls; {ranks:ranks}"
        " {count:|is|are} missing from {op}, in which most of them wait"
    ),
    "live.together": (
        "{all:ranks} all wait in {op} for {still:s}: either the calls differ in a way that is not"
        " seen from here, or the network does not carry it"
    ),
    "live.never_came": (
        "nothing is seen of {ranks:ranks}, and {victims:ranks} {waiting:|waits|wait} in {op}"
    ),
    "live.at_work": (
        "{ranks:ranks} {count:|is|are} at work (phase {phase}, {place}); {victims:ranks}"
        " {waiting:|waits|wait} in {op} for {waited:s}"
    ),
    "live.at_work_code": (
        "{ranks:ranks} {count:|is|are} at work at {place}; {victims:ranks} {waiting:|waits|wait}"
        " in {op} for {waited:s}"
    ),
}
