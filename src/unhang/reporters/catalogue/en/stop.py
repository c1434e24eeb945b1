"""Sentences on stops from outside."""

SENTENCES: dict[str, str] = {
    "CRA005.claim_interrupt": "the job was interrupted from outside (Ctrl-C)",
    "CRA005.claim_cancelled": "the job was cancelled",
    "CRA005.claim_time_limit": "the job ran into its time limit",
    "CRA005.claim_preempted": "the job was preempted",
    "CRA005.claim_terminated": "the job was terminated from outside (SIGTERM)",
    "CRA005.claim_hangup": "the session of the job was closed (SIGHUP)",
    "CRA005.claim_evicted": "the job's pod was evicted",
    "CRA005.why": "Nothing was wrong before the stop; what failed afterwards is its echo.",
    "CRA005.why_orphans": (
        "The stop did not reach all processes. Those that it missed waited for the others and "
        "timed out: they are orphans, not the cause."
    ),
    "CRA005.against_hang": "ranks waited for one that did not move before somebody stopped the job",
    "CRA005.against_trouble": "the job had failed or timed out before somebody stopped it",
    "CRA005.against_stuck": "ranks had waited in one collective since long before the stop",
    "CRA005.against_no_work": "nothing shows that the job was working before it was stopped",
    "CRA005.against_waiting": "the interrupt found a rank waiting in a collective",
    "CRA005.against_blind": "without times it cannot be told whether work was still going on",
    "CRA005.against_silence": "the job had been silent for long before it was stopped",
    "CRA005.against_cancel": "a cancellation alone does not tell whether anything was wrong",
}
