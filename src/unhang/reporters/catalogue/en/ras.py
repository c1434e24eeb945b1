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
    "LOC210.claim": (
        "NCCL's RAS finds {ranks:ranks} in state {status}, while {others} {others:|rank is|ranks"
        " are} running."
    ),
    "LOC210.claim_nobody": (
        "NCCL's RAS finds {count} {count:|rank|ranks} in state {status}, while {others}"
        " {others:|rank is|ranks are} running."
    ),
    "LOC210.why_left": "A rank that has left launches nothing more; those that run wait for it.",
    "LOC210.why": "A rank that has not joined launches nothing; those that run wait for it.",
    "DEV201.claim": "nvidia-smi reports GPU {device}: {detail}",
    "DEV201.why": "A GPU in that state leaves kernels unfinished, or makes all ranks wait.",
    "DEV201.against": "The report tells no time, and nothing in the job speaks of that GPU.",
    "DEV202.claim": "{ranks:ranks} compute on one GPU, number {gpu} of nvidia-smi's table.",
    "DEV202.claim_unknown": "{count} processes compute on GPU {gpu}, while another GPU has none.",
    "DEV202.why": "NCCL needs a GPU for each rank; two on one wait for each other's kernels.",
    "DEV202.against": "Nothing tells whether both processes are of this job.",
    "DEV203.claim": "Process {pid} ({name}), not one of this job, holds {held:bytes} of GPU {gpu}.",
    "DEV203.why": "That memory is missing where the job's allocation failed.",
    "DEV204.claim": (
        "{hosts} shows {count} {count:|GPU|GPUs}, where the other hosts show {usual}."
    ),
    "DEV204.claim_link": "No NVLink connects GPU {gpu} of {hosts}, while all its peers have one.",
    "DEV204.why": "A GPU that fell off the bus is no longer listed; its rank's kernels never end.",
    "DEV204.against": "A report tells no time, and hosts may rightly differ.",
    "NET203.claim": (
        "NCCL connects GPUs {one} and {other} directly, although they are far apart ({kind})."
    ),
    "NET203.why": "Such transfers pass the host's bridges; the IOMMU or ACS may swallow them.",
    "NET203.against": "Most hosts of that layout work.",
    "event.TopologySeen": "the connections of the GPUs of a host",
    "means.TopologySeen": "A layout is no failure: it stands for or against what else is said.",
    "event.GpuState": "the state of GPU {index} ({bus_id})",
    "means.GpuState": "A report tells no time: compare it with what the job says of that GPU.",
    "event.GpuProcess": "process {pid} computes on GPU {gpu}",
    "means.GpuProcess": "Two processes of one job on a GPU, or one of another job, are suspect.",
    "NET201.claim": "the port of {device} is not well: {detail}",
    "NET201.why": "Traffic over such a port breaks, or is slower than over the others.",
    "NET201.against": "Hosts have ports without a cable; nothing in the job names this one.",
}
