"""What a capture says."""

SENTENCES = {
    "capture.done": "wrote {path}: {files} {files:|file|files}, {size:bytes}, in {seconds:s}",
    "capture.seen": "{ranks:ranks} on {host} ({processes} {processes:|process|processes})",
    "capture.seen_no_rank": (
        "{processes} {processes:|process|processes} on {host}; none tells its rank (no RANK in its"
        " environment)"
    ),
    "capture.seen_nobody": "no process of the job runs on {host}",
    "capture.redacted": "redacted: {kinds}",
    "capture.names_replaced": "names of hosts and users, addresses and paths were replaced",
    "capture.names_stay": (
        "names of hosts and users and paths are in it; `--redact-hosts` replaces them"
    ),
    "capture.next": "judge it with `unhang diagnose {path}`, best with the bundles of all nodes",
    "capture.fate.taken": "taken",
    "capture.fate.partly": "taken in part",
    "capture.fate.refused": "refused",
    "capture.fate.timed_out": "timed out",
    "capture.fate.absent": "not here",
    "capture.why.not_installed": "{program} is not installed",
    "capture.why.no_device": "no {what} was found",
    "capture.why.nothing": "{what} told nothing",
    "capture.why.nothing_since": "no line in the last {seconds:s}, since the job began",
    "capture.why.no_file": "there is no {path}",
    "capture.why.older": "{path} is older than the process",
    "capture.why.no_dump": "torch wrote no Flight Recorder dump (TORCH_FR_BUFFER_SIZE > 0 records)",
    "capture.why.no_faulthandler": "it has no file open that `faulthandler` wrote",
    "capture.why.no_rank": "the process tells no rank",
    "capture.why.no_process": "no process of the job was found",
    "capture.why.no_job": "the job is none of {scheduler}'s",
    "capture.why.no_ras": "nobody answers at {address} ({error})",
    "capture.why.no_log_file": "it writes to no file of its own ({target})",
    "capture.why.in_run_folder": "its output is in the run folder",
    "capture.why.ended": "process {pid} has ended",
    "capture.why.no_environment": (
        "the environment of process {pid} cannot be read: it is another user's, or it hangs"
    ),
    "capture.why.denied": "{path} may not be read by this user",
    "capture.why.unreadable": "{path}: {error}",
    "capture.why.read_hangs": "reading {path} does not end",
    "capture.why.ptrace": (
        "{program} may not look into the process: it needs the same user and"
        " `kernel.yama.ptrace_scope=0`, or CAP_SYS_PTRACE (containers: `--cap-add SYS_PTRACE`)"
    ),
    "capture.why.kernel_log": (
        "{program} may not read the kernel log: it needs root, or `kernel.dmesg_restrict=0`"
    ),
    "capture.why.uninterruptible": (
        "process {pid} waits in the kernel where nothing can stop it (state D); its kernel stack"
        " tells where"
    ),
    "capture.why.stopped": (
        "process {pid} was stopped by somebody (state T), and looking into it would set it going"
    ),
    "capture.why.signal_not_caught": (
        "process {pid} does not catch signal {signal} and would die of it; nothing was sent"
    ),
    "capture.why.failed": "{program}: {text}",
    "capture.why.broke": "it could not be used ({text})",
    "capture.why.full": "the bundle had no room for {size:bytes} more",
    "capture.why.timed_out": "no answer within {limit:s}",
    "capture.why.no_time": "the time was up before it could be asked",
}
