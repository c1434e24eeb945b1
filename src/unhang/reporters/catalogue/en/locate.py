"""Sentences of the locating rules."""

SENTENCES: dict[str, str] = {
    "LOC001.claim": "{ranks:ranks} had not issued {op:ops} number {seq}, which the others wait in.",
    "LOC001.why": "A collective completes only when every rank of its group has issued it; "
    "{waiters:ranks} did.",
    "LOC002.claim_report": "{ranks:ranks} did not join the collective that the others wait in.",
    "LOC002.claim_barrier": "{ranks:ranks} did not reach the monitored barrier.",
    "LOC002.claim_root": "Others reached the monitored barrier and could not talk to "
    "{ranks:ranks}.",
    "LOC002.why": "PyTorch compared the ranks itself and names them.",
    "LOC003.claim": "{owner:ranks} did not come to its first collective; {waiters:ranks} waited "
    "for the id that it publishes.",
    "LOC003.why": "The store answered, so it is not the network: the rank that publishes is late "
    "or gone, and who gives up first is chance.",
    "LOC004.claim": "{ranks:ranks} did not time out and were told of the time-out by others.",
    "LOC004.why": "A rank that is alive and does not wait is where the call was not issued, or a "
    "bystander.",
    "LOC005.claim": "The watchdogs of {ranks:ranks} stood still.",
    "LOC005.claim_behind": "The watchdogs of {all:ranks} stood still, and {ranks:ranks} had "
    "issued fewer works than the others.",
    "LOC005.why": "A CUDA call does not return, or another thread keeps the GIL: the process "
    "hangs, and not a peer.",
    "LOC005.why_gil": "The GIL could not be taken: a thread keeps it in native code.",
    "LOC006.claim": "{op:ops} of {ranks:ranks} is the first collective of its group, and none "
    "ever completed.",
    "LOC006.why": "Before the first collective completes no rank is a straggler: set-up or "
    "transport fails.",
    "LOC007.claim": "{ranks:ranks} had issued {count} works past the last completed one.",
    "LOC007.why": "The Python code is past the call that hangs; its stack shows another place.",
}
