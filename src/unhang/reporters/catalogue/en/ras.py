"""Sentences about NCCL's RAS and about reports of tools on the hosts."""

SENTENCES: dict[str, str] = {
    "event.RasReport": "NCCL's RAS reports: {problem}",
    "event.HostReport": "a tool reports on {device}: {problem} ({detail})",
    "means.RasReport": (
        "RAS counts launches, not completions, and lists the minority: look at who is behind, and"
        " ask twice."
    ),
    "means.HostReport": (
        "A report tells no time: it counts where the job itself speaks of the same device."
    ),
    "LOC205.claim": (
        "{ranks:ranks} launched {op} up to number {done}, {others} other {others:|rank|ranks} up"
        " to {asked}."
    ),
    "LOC205.claim_nobody": (
        "{count} {count:|rank|ranks} launched {op} up to number {done}, {others}"
        " {others:|rank|ranks} up to {asked}."
    ),
    "LOC205.why": "Those ahead wait in an operation that the others have not launched.",
    "LOC205.why_ahead": (
        "RAS lists the few that are ahead; those behind are the many, and not listed by number."
    ),
    "LOC206.claim": "{ranks:ranks} {count:|does|do} not answer NCCL's RAS.",
    "LOC206.claim_nobody": "{count} {count:|process does|processes do} not answer NCCL's RAS.",
    "LOC206.why": (
        "A thread of every process answers, whatever Python does: this one is gone, is stopped, or"
        " its host cannot be reached."
    ),
    "LOC207.claim": (
        "NCCL's RAS counts the same launched operations on all {count} ranks, while {op} waits."
    ),
    "LOC207.why": (
        "As far as RAS sees, no rank has left out a call: either the GPUs or the network do not"
        " finish it, or the group that waits has no communicator yet."
    ),
    "LOC207.against": (
        "RAS counts launches, not completions; the answer tells no time, so that it may be of"
        " another moment."
    ),
    "DEV201.claim": "nvidia-smi reports GPU {device}: {detail}",
    "DEV201.why": "A GPU in that state leaves kernels unfinished, or makes all ranks wait.",
    "DEV201.against": "The report tells no time, and nothing in the job speaks of that GPU.",
    "NET201.claim": "the port of {device} is not well: {detail}",
    "NET201.why": "Traffic over such a port breaks, or is slower than over the others.",
    "NET201.against": "Hosts have ports without a cable; nothing in the job names this one.",
}
