"""Sentences of the rules on GPUs."""

SENTENCES: dict[str, str] = {
    "DEV001.claim": "GPU {device} on {hosts} failed: {what}",
    "DEV001.claim_program": "a kernel on GPU {device} of {hosts} did what it must not: {what}",
    "DEV001.why": "The kernel log reports a fault of the hardware, its firmware or its links.",
    "DEV001.why_program": (
        "These Xid numbers come from the program's own kernels, rarely from a failing GPU."
    ),
    "DEV001.against_old": "It lies {before:s} before the failure of the job.",
    "DEV002.claim": "the GPU of {ranks:ranks} failed: {text}",
    "DEV002.claim_nobody": "a GPU or its fabric failed: {text}",
    "DEV002.why": "CUDA reports a fault of the hardware, not of the program.",
    "DEV002.why_fabric": (
        "GPUs behind NVSwitch cannot be used until the fabric manager has set up the switches."
    ),
    "DEV002.against_peer": (
        "CUDA says the same when the process on the other side of the link was killed."
    ),
    "DEV003.claim": "a GPU kernel failed on {ranks:ranks}: {text}",
    "DEV003.claim_nobody": "a GPU kernel failed: {text}",
    "DEV003.why": (
        "A failed kernel ends the CUDA context; the next CUDA call, often in NCCL's watchdog, only"
        " reports it."
    ),
    "DEV004.claim": "{ranks:ranks} ran out of GPU memory (asked for {asked:bytes})",
    "DEV004.claim_nobody": "a GPU ran out of memory (asked for {asked:bytes})",
    "DEV004.claim_unsized": "{ranks:ranks} ran out of GPU memory",
    "DEV004.claim_unsized_nobody": "a GPU ran out of memory",
    "DEV004.claim_shared": (
        "{ranks:ranks} ran out of GPU memory; another process holds {other:bytes} of that GPU"
    ),
    "DEV004.claim_shared_nobody": (
        "a GPU ran out of memory; another process holds {other:bytes} of it"
    ),
    "DEV004.why": "The rank leaves when the allocation fails; the others wait for it.",
    "DEV004.why_shared": "Another program shares the GPU: the batch size is not the matter.",
    "DEV005.claim": "{ranks:ranks} use the same GPU",
    "DEV005.why": "NCCL needs one GPU for each rank; it always names the lowest rank of the pair.",
    "DEV006.claim": "{ranks:ranks} of one host ran a barrier on the same guessed GPU {device}",
    "DEV006.why": "Without `set_device` torch guesses the GPU from the rank.",
    "DEV007.claim": "{ranks:ranks} asked for a GPU that is not there",
    "DEV007.claim_busy": "the GPU of {ranks:ranks} is busy or unavailable",
    "DEV007.claim_nobody": "a process asked for a GPU that is not there",
    "DEV007.claim_busy_nobody": "a GPU is busy or unavailable",
    "DEV007.why": (
        "There are more processes than visible GPUs, or the index is counted from another list."
    ),
    "DEV008.claim": "ranks run different versions of NCCL: {text}",
    "DEV008.why": "Releases of NCCL do not understand each other's messages.",
    "DEV009.claim": "the CUDA build does not fit the driver or the GPU: {text}",
    "DEV009.why": "The first CUDA call of the rank fails; the others wait for it.",
    "DEV010.claim": "{ranks:ranks} ended by SIGFPE, as old cuBLAS does on an H20",
    "DEV010.claim_nobody": "processes ended by SIGFPE, as old cuBLAS does on an H20",
    "DEV010.why": "cuBLASLt divides by a figure of the GPU that older releases do not know.",
    "DEV010.against_bare": "Any division by zero in native code ends in the same signal.",
    "DEV011.claim": "a known library bug ({report}): {text}",
    "DEV011.why": "This text in this release is described in the report.",
    "collect.gpu_kernel_log.what": "the kernel log of the host with the failing GPU",
    "collect.gpu_kernel_log.how": "`dmesg -T | grep -i -E 'xid|nvrm|nvswitch'` on that host",
    "collect.gpu_kernel_log.decides": "whether the GPU, a link or the program is at fault",
}
