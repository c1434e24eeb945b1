"""Sentences about what each kind of source says, and about files that were refused."""

SENTENCES: dict[str, str] = {
    "CFG201.claim": (
        "WARNING: {count:|a file carries|files carry} code and {count:|was|were} refused; nothing"
        " in {count:|it|them} was run: {files} ({detail})."
    ),
    "CFG201.why": (
        "No recorder writes that: find out who wrote it, and do not load it with anything else."
    ),
    "CFG201.claim_unsafe": "WARNING: {files} {count:|was|were} refused: {detail}.",
    "CFG201.why_unsafe": "No recorder writes such a file: find out where it came from.",
    "LOC110.claim": "{count} {count:|dump|dumps} of {ranks:ranks} {count:|is|are} empty (0 bytes).",
    "LOC110.claim_waited": (
        "The {count:|dump|dumps} of {ranks:ranks} {count:|is|are} empty (0 bytes), and all others"
        " wait for it."
    ),
    "LOC110.why": (
        "A process that leaves an empty file was ended while it wrote, or is stuck before it."
    ),
    "LOC208.claim": (
        "The last collective that NCCL Inspector saw end is {op} #{seq} of communicator {comm}."
    ),
    "LOC208.claim_fewer": (
        "The last collective that NCCL Inspector saw end is {op} #{seq} of communicator {comm};"
        " {ranks:ranks} had written fewer."
    ),
    "LOC208.why": "What hangs is never written: nothing has ended since.",
    "LOC209.claim": (
        "{ranks:ranks} {count:|does|do} not answer torch's debug server, while the others give"
        " their stacks."
    ),
    "LOC209.why": "A thread of every process answers: this one is gone, or it cannot be reached.",
    "LOC209.why_expired": (
        "A thread of every process answers: this one never gets to it, as when another thread"
        " keeps Python's interpreter lock."
    ),
    "event.StackRefused": "a process that was asked for its stacks gave none (status {status})",
    "means.StackRefused": "The one rank that gives none is a suspect where all others wait.",
    "SLO202.claim": "{ranks:ranks} joined {op} {late:s} after all others, again and again.",
    "SLO202.claim_unknown": (
        "Rank {rank} of a communicator joined {op} {late:s} after all others, again and again."
    ),
    "SLO202.why": "Its kernels are the shortest by far: the last one to come waits for nobody.",
    "SLO202.against": "What was slow before a hang need not be what hangs.",
    "NET202.claim": (
        "The bus bandwidth of {op} of {size:bytes} fell from {before:.1f} to {after:.1f} GB/s."
    ),
    "NET202.why": "Even the rank that comes last, whose kernel waits for nobody, became slower.",
    "NET202.against": "Nothing tells whether what timed out was slow or stood still.",
    "event.CollectivesMeasured": (
        "NCCL Inspector timed collectives of communicator {comm}, up to {last_op} #{last_seq}"
    ),
    "means.CollectivesMeasured": (
        "It writes only what has ended: it tells who is slow, never who is absent."
    ),
    "event.DumpUnusable": "a file that poses as a Flight Recorder dump: {flaw} ({detail})",
    "means.DumpUnusable": "It tells nothing of the job; the other dumps were read.",
    "label.sources": "What each source says",
    "source.logs": "logs",
    "source.dumps": "Flight Recorder",
    "source.stacks": "stacks",
    "source.ras": "NCCL's RAS",
    "source.watch": "the live judge",
    "source.kernel": "kernel log",
    "source.hosts": "host reports",
    "source.measurements": "measurements",
    "source.against": "{claim} But: {against}",
    "bearing.proves": "proof: {source}",
    "bearing.supports": "for it: {source}",
    "bearing.contradicts": "against it: {source}",
    "bearing.adds": "besides: {source}",
}
