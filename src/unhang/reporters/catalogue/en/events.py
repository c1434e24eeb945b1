"""What each kind of event says, and what it means for somebody who looks for the cause."""

SENTENCES: dict[str, str] = {
    "event.BandwidthMeasured": "nccl-tests measured {busbw_gbps} GB/s at {size_bytes:bytes}",
    "event.BarrierMissing": "a monitored barrier waited in vain for {missing:ranks}",
    "event.ClosingSignal": "a launcher ends process {pid} with signal {signal}",
    "event.CollectiveTimeout": (
        "a rank waited {elapsed_ms:ms} in {op:ops}, sequence number {seq}, and gave up"
        " (limit {timeout_ms:ms})"
    ),
    "event.CommunicatorStage": "NCCL sets up or ends a communicator: {stage}, {size} ranks",
    "event.DesyncReported": (
        "the desync report: {absent:ranks} did not join, {joined:ranks} joined and did not finish"
    ),
    "event.DeviceFault": "CUDA reports an error: {problem}",
    "event.DeviceGuessed": "torch guesses that this rank uses GPU {device}",
    "event.DumpSignal": "a rank dumps its Flight Recorder ({reason})",
    "event.FingerprintMismatch": (
        "ranks {rank} and {other_rank} run different collectives: {runs} and {other_runs}"
    ),
    "event.Finished": "the program says that it ended well",
    "event.FrameworkSeen": "a mark of {name}",
    "event.GlooFault": "Gloo reports: {problem}",
    "event.GroupStatus": (
        "a rank's counters: last enqueued {enqueued}, last completed {completed},"
        " failed at {failed}"
    ),
    "event.InterfaceUsed": "{library} talks over the network interface {interface}",
    "event.KernelEvent": "the kernel log reports: {problem}",
    "event.LinesDropped": "a launcher left out {count} lines of other ranks",
    "event.ModelMismatch": "the model differs between ranks: {difference}",
    "event.NcclFailure": "NCCL reports: {reason}",
    "event.PhaseMark": "a mark of the phase {phase} ({edge})",
    "event.ProcessEnded": (
        "{reporter} reports that a process ended: exit code {exit_code}, signal {signal}"
    ),
    "event.Progress": "a progress bar at {done} of {total}",
    "event.PythonException": "Python raised {exception}: {message}",
    "event.Restarted": "the job was started again",
    "event.SettingSeen": "a setting: {name}={value}",
    "event.StackSeen": "a live stack stands in {frame}",
    "event.StopSeen": "the job was stopped from outside: {kind}",
    "event.StoreFault": "the store or the rendezvous reports: {problem}",
    "event.TransportUsed": "NCCL moves data by {transport}",
    "event.VersionSeen": "{component} is {version}",
    "event.WatchdogAborted": "a watchdog took its own process down ({reason})",
    "event.WatchdogStuck": "a heartbeat monitor ended a process whose watchdog did not move",
    "event.WorldSeen": "who is who: rank {rank} of {world_size}",
    "means.BandwidthMeasured": (
        "Compare it with what the link can do; a low figure makes collectives slow, not stuck."
    ),
    "means.BarrierMissing": (
        "The ranks it names did not arrive. Look into their own logs for what kept them."
    ),
    "means.ClosingSignal": (
        "This process is a victim: the launcher ends all others after the first failure."
    ),
    "means.CollectiveTimeout": (
        "This rank is a victim: it waited for a rank that did not join, or for a transport that"
        " did not move. Look for the rank that prints no such line, and for what it did last."
    ),
    "means.CommunicatorStage": (
        "A set-up that begins on all ranks and completes on some points at the transport."
    ),
    "means.DesyncReported": (
        "It names who was missing. That holds only for the ranks that sent their status."
    ),
    "means.DeviceFault": (
        "A kernel of this process or its GPU failed. Other ranks then wait for it in vain."
    ),
    "means.DeviceGuessed": (
        "A barrier came before `set_device`; when the guess is wrong, two ranks share one GPU."
    ),
    "means.DumpSignal": "This rank was told of the failure or saw it; that makes it no culprit.",
    "means.FingerprintMismatch": (
        "The ranks took different code paths. It compares two ranks only; either may be wrong."
    ),
    "means.Finished": "Whatever was printed before it did not stop the job.",
    "means.FrameworkSeen": "It tells in whose syntax to write the fix.",
    "means.GlooFault": (
        "A time-out or a closed connection names the neighbour in the ring, not the culprit."
    ),
    "means.GroupStatus": (
        "Compare it between ranks: the rank with the smaller last enqueued number is behind."
    ),
    "means.InterfaceUsed": "Check that it reaches the other hosts: lo and docker0 do not.",
    "means.KernelEvent": "The kernel speaks of the host itself; its time tells what came first.",
    "means.LinesDropped": "A rank without a message may have printed one: absence proves nothing.",
    "means.ModelMismatch": "The compute graph depends on the rank or on its data.",
    "means.NcclFailure": (
        "Errors of the transport are often echoes: the rank that left first breaks the connections"
        " of all others. Look for the earliest failure."
    ),
    "means.PhaseMark": "A phase that begins and never ends shows what the late rank was doing.",
    "means.ProcessEnded": (
        "Signal 15 and, after a time-out, signal 6 are consequences; signals 9, 11 and 7 and plain"
        " exit codes may be the cause."
    ),
    "means.Progress": "A bar that stops short of its end shows what was under way.",
    "means.PythonException": (
        "If it is the earliest failure and not about another rank, it is likely the cause: the"
        " other ranks wait for this one."
    ),
    "means.Restarted": "The log holds several starts; each is judged on its own.",
    "means.SettingSeen": "`unhang explain NAME` says whether the setting does anything.",
    "means.StackSeen": "It shows what this rank did while the others waited.",
    "means.StopSeen": "What is printed after it is an echo of the stop.",
    "means.StoreFault": (
        "The rank that prints it waited. The store lives on rank 0, so rank 0 may be late, gone or"
        " unreachable."
    ),
    "means.TransportUsed": "A slower transport than expected makes collectives slow.",
    "means.VersionSeen": "Formats, defaults and known bugs depend on it.",
    "means.WatchdogAborted": "A consequence: the time-out or error before it is what matters.",
    "means.WatchdogStuck": (
        "The process was stuck below Python, or could not get the interpreter lock."
    ),
    "means.WorldSeen": "It tells how many ranks to expect.",
}
