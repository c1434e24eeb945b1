"""Sentences of the rules on start-up."""

SENTENCES: dict[str, str] = {
    "rendezvous.against_stopped": "the job had been stopped from outside before",
    "rendezvous.against_failure": "a process failed first; the others wait for it in vain",
    "rendezvous.against_timeout": "collectives had timed out before, so start-up had succeeded",
    "rendezvous.against_under_way": "training had begun before, so start-up had succeeded",
    "CFG001.claim": "port {port} of the store is already in use",
    "CFG001.claim_system": (
        "the store is told to use port {port}, which belongs to a system service"
    ),
    "CFG001.claim_unknown": "the port of the store is already in use",
    "CFG001.why": "Without a store that listens nobody can join the job.",
    "CFG002.claim": "ranks cannot reach the store at {host}:{port}",
    "CFG002.claim_resolve": "the host name of the store, {host}, does not resolve",
    "CFG002.claim_unknown": "ranks cannot reach the store, or not all nodes joined",
    "CFG002.why": "Rank 0, or the agent of the endpoint's host, does not answer there.",
    "CFG002.against": "a firewall or rank 0 at slow work looks the same from here",
    "CFG003.claim": "only {joined} of {expected} ranks joined the job",
    "CFG003.claim_more": "{joined} ranks joined a job of {expected}",
    "CFG003.claim_unknown": "not all ranks joined the job",
    "CFG003.why": "Start-up completes only when as many ranks have joined as were announced.",
    "CFG004.claim": "{owners:ranks} never wrote the key that {waiters:ranks} waited for",
    "CFG004.claim_nobody": "a rank waited in vain for a key of the store",
    "CFG004.why": (
        "The waiting rank did reach the store. The rank that writes the key has not come to its "
        "first collective: it is late, or it has failed."
    ),
    "CFG004.against": "what the late rank does meanwhile is not in the logs",
    "CFG004.against_phase": "slow work is seen under way, which explains the late rank",
    "CFG005.claim": "a process group was used that is not, or cannot be, initialised",
    "CFG005.why": "That process fails or trains alone, and the others wait for it.",
    "CFG006.claim_twice": (
        "{twice:ranks} announced themselves twice and {missing:ranks} of {size} never did"
    ),
    "CFG006.claim_missing": "{missing:ranks} of {size} never announced themselves",
    "CFG006.why": (
        "Nodes that believe to be the same node, or nodes that were never started, leave start-up "
        "waiting for ever."
    ),
    "CFG006.against": "the announcements of other nodes may be in their own logs",
    "CFG007.claim": "After a restart the ranks cannot connect to each other, which the first start "
    "could: they find the addresses of the start before",
    "CFG007.why": (
        "From torch 2.5 on all starts under one torchrun share a store. A rank that reads it "
        "before its peer has written gets the address of a process that is gone."
    ),
    "CFG007.against": "the network may have failed in the meantime",
    "collect.port_owner.what": "who listens on the port",
    "collect.port_owner.how": "ss -ltnp on the host of rank 0",
    "collect.port_owner.decides": "whether an old run, another job or a system service owns it",
    "collect.store_connection.what": "whether the store's address answers",
    "collect.store_connection.how": "nc -vz HOST PORT from another node while rank 0 waits",
    "collect.store_connection.decides": "whether nobody listens or something blocks the way",
    "collect.owner_stack.what": "what the late rank does",
    "collect.owner_stack.how": "py-spy dump --pid PID on its host, and its last log lines",
    "collect.owner_stack.decides": "whether it loads data, is stuck, or has failed",
}
