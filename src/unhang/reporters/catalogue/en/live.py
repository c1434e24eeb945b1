"""Sentences of the judge while the job lives: notes in `events.jsonl`, and claims."""

SENTENCES: dict[str, str] = {
    "live.attached": "{ranks:ranks} on {host} are watched",
    "live.phase": "{ranks:ranks} {count:|is|are} in phase {phase}",
    "live.governed": "The limit of all process groups of {ranks:ranks} is now {limit:ms}",
    "live.exited": "{ranks:ranks} {count:|has|have} ended",
    "live.failed": "{ranks:ranks} {count:|has|have} failed: {told}",
    "live.vanished": "{ranks:ranks} {count:|has|have} ended, and nothing tells how",
    "live.finished": "The command has ended with exit code {code}",
    "live.failed_first": (
        "The command has ended with exit code {code}; {ranks:ranks} failed first"
    ),
    "live.left_first": (
        "The command has ended with exit code {code}; {ranks:ranks} ended first, and the others"
        " failed because of that"
    ),
    "live.hung": "The command has ended with exit code {code}, after the hang at {ranks:ranks}",
    "live.hung_nobody": "The command has ended with exit code {code}, after a hang",
    "live.lost": "{text}",
    "live.host_silent": (
        "{host} with {ranks:ranks} is not heard any more; nothing is held against them"
    ),
    "live.contested": (
        "Two living processes say they are the same rank: nothing is judged while it cannot be told"
        " which of them belong together"
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
    "live.spinning": (
        "{ranks:ranks} {count:|computes|compute} at {place} for {still:s} without a step, while"
        " {victims:ranks} {waiting:|waits|wait} in {op}; an endless loop looks like that"
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
    "event.HoldUp": "the live judge saw ranks that held others up ({charge}, {stage})",
    "means.HoldUp": (
        "It is the last view of `unhang run`: who waited for whom, for how long, and how those that"
        " were waited for were."
    ),
    "LOC301.why": (
        "The judge watched all processes while the job ran: {victims:ranks} {waiting:|waits|wait}"
        " in {op} for {waited:s}, and every collective needs all its ranks."
    ),
    "LOC302.why": (
        "The judge watched all processes while the job ran: {victims:ranks} {waiting:|waits|wait}"
        " in {op} for {waited:s}, which cannot complete without {ranks:ranks}."
    ),
    "DSY301.mismatch": "{all:ranks} waited in different calls under number {seq} of their group",
    "DSY301.circle": "{all:ranks} waited for each other in calls of different process groups",
    "DSY301.why": (
        "All of them had issued a call under the same number and waited, no rank was elsewhere, and"
        " the calls are not the same."
    ),
    "DSY301.why_circle": (
        "Each of the calls lacked ranks that waited in another one, and no rank was elsewhere."
    ),
    "SLO301.stood_save": (
        "{ranks:ranks} stood in saving a checkpoint for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.stood_load": (
        "{ranks:ranks} stood in loading a model or a checkpoint for {still:s} ({place}), while"
        " {victims:ranks} {waiting:|waits|wait}"
    ),
    "SLO301.stood_data": (
        "{ranks:ranks} stood in preparing data for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.stood_eval": (
        "{ranks:ranks} stood in an evaluation for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.stood_generate": (
        "{ranks:ranks} stood in generation for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.stood_logging": (
        "{ranks:ranks} stood in logging for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.stood_compile": (
        "{ranks:ranks} stood in compiling for {still:s} ({place}), while {victims:ranks}"
        " {waiting:|waits|wait}"
    ),
    "SLO301.why_stood": (
        "No CPU time, no bytes and no step moved there for longer than is usual in that phase."
    ),
    "SLO301.worked_save": (
        "{ranks:ranks} {count:|was|were} saving a checkpoint ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_load": (
        "{ranks:ranks} {count:|was|were} loading a model or a checkpoint ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_data": (
        "{ranks:ranks} {count:|was|were} preparing data ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_eval": (
        "{ranks:ranks} {count:|was|were} evaluating ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_generate": (
        "{ranks:ranks} {count:|was|were} generating ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_logging": (
        "{ranks:ranks} {count:|was|were} logging ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.worked_compile": (
        "{ranks:ranks} {count:|was|were} compiling ({place}) while"
        " {victims:ranks} waited for {waited:s}"
    ),
    "SLO301.why_worked": (
        "Its CPU time, bytes or stack moved until the end: it was at work, and the others gave"
        " up or were ended before it had done."
    ),
    "live.at_work_code": (
        "{ranks:ranks} {count:|is|are} at work at {place}; {victims:ranks} {waiting:|waits|wait}"
        " in {op} for {waited:s}"
    ),
}
