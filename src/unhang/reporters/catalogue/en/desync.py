"""Sentences of the desync rules."""

SENTENCES: dict[str, str] = {
    "DSY001.claim": "ranks {ranks} issued different collectives at one sequence number: {ops}",
    "DSY001.why": "A collective completes only when all ranks of its group issue the same one.",
}
