"""Sentences of the rules on networks and transports, and of what else may explain an error."""

SENTENCES: dict[str, str] = {
    "rival.stopped": "The job was stopped from outside before: this may be the echo.",
    "rival.lost_rank": (
        "Another process had failed by itself ({ranks:ranks}); broken connections follow from that."
    ),
    "rival.after_timeout": "It was printed after a collective had timed out and ranks were ended.",
    "NET001.claim": "no network interface can be used: {text}",
    "NET001.why": (
        "NCCL and Gloo need one interface; the one asked for does not exist on this host or in its"
        " container."
    ),
    "NET002.claim": "{peer} cannot be reached: {text}",
    "NET002.claim_private": "ranks meet at {address}, an address that other hosts cannot reach",
    "NET002.why": (
        "Ranks connect to each other on ports that the system picks; a firewall or a wrong"
        " interface drops these connections although the store works."
    ),
    "NET002.why_private": (
        "Loopback, container bridges, tunnels and link-local addresses lead nowhere from another"
        " host."
    ),
    "NET002.against_refused": (
        "A refused connection also means that the peer's process was already gone."
    ),
    "NET003.claim": "Gloo's ranks could not connect to each other",
    "NET003.claim_loopback": (
        "Gloo's ranks meet at {remote}: the host name resolves to the loopback address"
    ),
    "NET003.why": (
        "Gloo publishes the address that the host name resolves to; every other rank must reach it."
    ),
    "NET003.against_connected_before": "the start before had connected over the same addresses",
    "NET003.against_one_host": (
        "All that was seen lies on one host, where loopback is right: the peer may be gone."
    ),
    "NET004.claim": "the network plugin failed: {text}",
    "NET004.claim_address": "the network plugin cannot reach a peer's address: {text}",
    "NET004.why": (
        "EFA traffic must be allowed by the security group to and from itself, in both directions;"
        " ping and sockets do not show it."
    ),
    "NET005.claim": (
        "{hosts} got an RDMA completion error from {peer}: status {status}, vendor error {vendor}"
    ),
    "NET005.claim_text": "{hosts} got an RDMA error: {text}",
    "NET005.why": (
        "Retries ran out: packets between these two adapters, or their acknowledgements, are lost."
    ),
    "NET005.why_memory": (
        "The adapter could not reach the memory: PCIe access control (ACS) blocks GPUDirect."
    ),
    "NET005.against_size": (
        "This status also appears when the two sides disagree about the message's size."
    ),
    "NET006.claim": "the network port of {hosts} went down ({device})",
    "NET006.why": "The host that reports its own port is the faulty side; its peers only time out.",
    "NET007.claim": "{hosts} could not set up RDMA: {text}",
    "NET007.why": (
        "The queue pair or the device refused: a wrong GID index or partition, two subnets without"
        " a route, or an RDMA driver that lacks the function."
    ),
    "NET007.why_lock": (
        "RDMA pins memory; the limit on locked memory (`ulimit -l`) of this process is too low."
        " Neither host nor GPU memory ran out."
    ),
    "NET008.claim": "data goes over TCP sockets between {hosts} while {op} does not finish",
    "NET008.why": "NCCL found no RDMA device and took sockets, ten to a hundred times slower.",
    "NET008.against_small": (
        "The collective is small enough for TCP: sockets alone do not explain the timeout."
    ),
    "NET009.claim": (
        "large messages reach {measured:.1f} GB/s where the link gives {link:.0f} GB/s"
    ),
    "NET009.claim_setting": (
        "large messages reach {measured:.1f} GB/s where the link gives {link:.0f} GB/s, with"
        " {settings} set"
    ),
    "NET009.why": "The data takes a slower way than the topology offers.",
    "NET009.why_channels": (
        "The data takes a slower way than the topology offers; NCCL uses {channels} channels."
    ),
    "NET010.claim": "direct access between GPUs is refused on {hosts}: {text}",
    "NET010.claim_iommu": "the IOMMU of {hosts} faults while the job is stuck: {text}",
    "NET010.why": "NCCL moves data between GPUs of a host directly, and was not allowed to.",
    "NET010.why_iommu": (
        "Transfers between GPUs that the IOMMU rejects never arrive, and no error reaches the"
        " program."
    ),
    "NET011.claim": "shared memory of {hosts} is full: {text}",
    "NET011.claim_segment": "a shared-memory segment could not be made on {hosts}: {text}",
    "NET011.why": (
        "Ranks of one host exchange data through /dev/shm; a container gets 64 MB of it unless told"
        " otherwise."
    ),
    "NET012.claim": "the members of the communicator do not fit together: {text}",
    "NET012.why": (
        "A second process with the same rank, another world size, or a process left over from an"
        " earlier start took part."
    ),
    "NET013.claim": "{absent:ranks} never started the communicator that {started:ranks} wait for",
    "NET013.why": "A communicator is made by all its ranks together; the others wait in NCCL.",
    "NET013.against_silent": "Of other missing ranks nothing was seen at all.",
    "NET014.claim": "{hosts} bootstraps NCCL over {interface}, which other hosts cannot reach",
    "NET014.why": "Not one collective was finished: the connections between hosts never worked.",
}
