"""Sentences about what to collect next: what, how, and what it decides."""

SENTENCES: dict[str, str] = {
    "collect.silent_logs.what": "the logs of {ranks:ranks}",
    "collect.silent_logs.how": (
        "launch with `torchrun --log-dir logs --redirects 3 --tee 3` (or one output file for each"
        " task of srun), and give the whole folder"
    ),
    "collect.silent_logs.decides": "whether a silent rank failed first, was late, or waited too",
    "collect.all_logs.what": "the complete logs of all ranks, from the start of the job",
    "collect.all_logs.how": (
        "launch with `torchrun --log-dir logs --redirects 3 --tee 3`, and give the whole folder"
    ),
    "collect.all_logs.decides": "which rank failed or stayed away first",
    "collect.kernel_log.what": "the kernel log of the node",
    "collect.kernel_log.how": "`dmesg -T | tail -n 500` (or `journalctl -k`) on that node",
    "collect.kernel_log.decides": "whether the kernel killed the process for memory (OOM)",
    "collect.detail.what": "the first mismatch with both sides",
    "collect.detail.how": "one run with `TORCH_DISTRIBUTED_DEBUG=DETAIL`",
    "collect.detail.decides": "which rank issues a different collective, and which",
    "collect.nccl_info.what": "NCCL's own log of the start-up",
    "collect.nccl_info.how": (
        "one run with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV"
        " NCCL_DEBUG_FILE=nccl.%h.%p.log`"
    ),
    "collect.nccl_info.decides": (
        "which rank never started its communicator, and which interface and transport are used"
    ),
    "collect.flight_recorder.what": "Flight Recorder dumps of all ranks",
    "collect.flight_recorder.how": (
        "one run with `{variable}=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"
        " TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/shared/fr_trace_rank_`"
    ),
    "collect.flight_recorder.decides": (
        "which rank did not issue the collective, or issued another one"
    ),
    "collect.stacks.what": "the stacks of all ranks while they hang",
    "collect.stacks.how": "`py-spy dump --pid PID` for each training process, before the timeout",
    "collect.stacks.decides": "what the late rank is doing",
    "collect.before.what": "the log before the timeout: the last progress lines of each rank",
    "collect.before.how": "give the whole log, not only its end",
    "collect.before.decides": (
        "the phase: saving, evaluating, loading data, compiling or training"
    ),
}
