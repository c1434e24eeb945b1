"""Sentences of the slow rules."""

SENTENCES: dict[str, str] = {
    "SLO001.claim": "a checkpoint is still being saved or loaded (`{detail}`) when the others "
    "give up waiting",
    "SLO001.claim_ranks": "{ranks:ranks}: a checkpoint is still being saved or loaded "
    "(`{detail}`) when the others give up waiting",
    "SLO002.claim": "data are still being prepared (`{detail}`) when the others give up waiting",
    "SLO002.claim_ranks": "{ranks:ranks}: data are still being prepared (`{detail}`) when the "
    "others give up waiting",
    "SLO003.claim": "an evaluation is still running (`{detail}`) when the others give up waiting",
    "SLO003.claim_ranks": "{ranks:ranks}: an evaluation is still running (`{detail}`) when the "
    "others give up waiting",
    "SLO004.claim": "code is still being compiled or warmed up (`{detail}`) while the others wait",
    "SLO004.claim_ranks": "{ranks:ranks}: code is still being compiled or warmed up "
    "(`{detail}`) while the others wait",
    "SLO005.claim_work": "the timeout of {limit_s:s} ends work that needs only {seconds:s} more",
    "SLO005.claim_step": "one training step takes {seconds:s}, as long as the timeout of "
    "{limit_s:s}",
    "SLO005.why": "The work advances and is finite; the watchdog measures time, not progress.",
    "SLO.why_bar": "The work has lasted {lasted_s:s} and is not done; the others give up after "
    "{limit_s:s}.",
    "SLO.why_default": "The work has lasted {lasted_s:s} and is not done: as long as a default "
    "timeout, or longer.",
    "SLO.why_mark": "The work began {lasted_s:s} before the first time-out and no line says that "
    "it ended; the timeout is {limit_s:s}.",
    "SLO.why_named": "The waiting ranks name {ranks:ranks} as the one they wait for.",
    "SLO.why_missing": "It is the last thing that {ranks:ranks} is known to have begun, no line "
    "says that it ended, and every other rank gave up waiting.",
    "SLO.why_last": "It is the last thing printed before the first time-out, no line says that it "
    "ended, and the others wait where nobody works.",
    "SLO.why_stack": "A live stack shows the process in `{frame}`.",
    "SLO.against_stale": "The work began long before the wait did: its end may merely not be "
    "logged.",
    "SLO.against_short": "The work had lasted {lasted_s:s} only, less than the timeout of "
    "{limit_s:s}: it may itself have hung.",
    "SLO.against_cut": "The last line of the traceback is lost.",
    "SLO.against_tensor": "The others wait in a collective of the model, and no times tell how "
    "long the work had lasted.",
    "SLO.against_late": "{seq} collectives have passed: the line may belong to the start of the "
    "job.",
    "SLO.against_vague": "The first collectives may also fail for the network or the choice of "
    "device.",
    "SLO.against_stopped": "The job was stopped from outside before.",
    "SLO.against_failure": "Something else failed, and not surely later.",
    "SLO.against_desync": "Ranks issued different calls, or run different models.",
    "SLO.against_survived": "Training went on after the time-out.",
    "SLO.against_joined": "{ranks:ranks} waits in the collective too, so it was not at work.",
    "SLO.against_awaited": "The others wait for {ranks:ranks}, which is not the one at work.",
    "SLO.against_unseen": "No begin of this work was seen: it may have been over.",
    "SLO.against_done": "Its bar stands at 100 %: the work itself was done.",
    "SLO.against_lines": "{lines} lines stand between it and the time-out: its end may merely not "
    "be recognised.",
    "SLO.against_device": "A barrier ran before the GPU of each rank was chosen, which hangs in "
    "the same way.",
}
