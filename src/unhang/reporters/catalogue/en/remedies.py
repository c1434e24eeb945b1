"""Sentences of fixes: what to do (`title`), what it costs (`risk`), how to see that it worked."""

SENTENCES: dict[str, str] = {
    # A longer timeout
    "fix.longer_timeout.title.bar": (
        "Raise the timeout to {new:s} ({key}): by its progress bar the work takes {on:s};"
        " {times} times that leaves a margin for slower runs"
    ),
    "fix.longer_timeout.title.seen": (
        "Raise the timeout to {new:s} ({key}), {times} times the {on:s} after which the work was"
        " still going on"
    ),
    "fix.longer_timeout.title.probe": (
        "Raise the timeout to {new:s} once ({key}), {times} times the {on:s} that ran out, to learn"
        " whether the late rank works or hangs"
    ),
    "fix.longer_timeout.title.default": (
        "Raise the timeout to {new:s} once ({key}), {times} times the default of {on:s}, to learn"
        " whether the late rank works or hangs"
    ),
    "fix.longer_timeout.risk": (
        "a real hang is noticed only after {new:s}; if the job stops at the same call again, it is"
        " no slowness: set it back"
    ),
    "fix.longer_timeout.verify.knob": (
        "with TORCH_CPP_LOG_LEVEL=INFO the start-up prints TIMEOUT(ms): {new_ms} for the group that"
        " timed out; if it does not, the group was made before this setting was read"
    ),
    "fix.longer_timeout.verify.source": (
        "a later time-out line shows Timeout(ms)={new_ms}; no setting of the framework reaches this"
        " group"
    ),
    # Saving
    "fix.sharded_save.title": "Save the shards of each rank, without gathering them ({place})",
    "fix.sharded_save.risk": (
        "the checkpoint is a folder of shards: tools that expect one file need it merged first"
        " (zero_to_fp32.py, accelerate merge-weights, dcp_to_torch_save)"
    ),
    "fix.sharded_save.verify": "every rank writes its file, and a save takes a fraction of before",
    "fix.async_save.title": "Write checkpoints beside training ({place})",
    "fix.async_save.risk": (
        "one more copy of the state in host memory; a crash during the write loses that checkpoint"
    ),
    "fix.async_save.verify": "steps go on right after a save begins",
    "fix.smaller_save.title": "Save less: the weights without the optimizer ({place})",
    "fix.smaller_save.risk": "training cannot resume exactly from such a checkpoint",
    "fix.smaller_save.verify": "the checkpoint is about a third as large",
    "fix.save_rarely.title": "Save less often ({place})",
    "fix.save_rarely.risk": "a failure costs more steps; a save that is too slow remains too slow",
    "fix.save_rarely.verify": "the share of time in saves goes down",
    "fix.save_often.title": "Save more often, so that a stop costs little ({place})",
    "fix.save_often.risk": "more time and space for checkpoints",
    "fix.save_often.verify": "after a stop the job resumes from a recent step",
    # Evaluation
    "fix.eval_smaller.title": "Make evaluation shorter, and let every rank take part ({place})",
    "fix.eval_smaller.risk": "fewer samples or coarser metrics in each evaluation",
    "fix.eval_smaller.verify": "an evaluation ends well within the timeout",
    "fix.eval_rarely.title": "Evaluate less often, or after training ({place})",
    "fix.eval_rarely.risk": "problems of quality show later; a long evaluation remains long",
    "fix.eval_rarely.verify": "training passes the step at which it stopped",
    # Data
    "fix.prepare_data.title": "Prepare the data once, before the ranks start ({place})",
    "fix.prepare_data.risk": "the prepared copy must be made again when data or tokenizer change",
    "fix.prepare_data.verify": "all ranks reach the first step within a minute or two",
    "fix.faster_data.title": "Load with more processes ({place})",
    "fix.faster_data.risk": "more host memory: each process may hold its own copy",
    "fix.faster_data.verify": "GPU use stays high between steps (nvidia-smi dmon)",
    # Memory
    "fix.smaller_batch.title": "Smaller micro-batches, more accumulation ({place})",
    "fix.smaller_batch.risk": (
        "slower steps; choose the numbers so that their product, the effective batch, stays"
    ),
    "fix.smaller_batch.verify": "torch.cuda.max_memory_allocated() stays 10 % below the GPU's size",
    "fix.recompute.title": "Recompute activations in the backward pass ({place})",
    "fix.recompute.risk": "steps become about a third slower",
    "fix.recompute.verify": "the peak of GPU memory goes down",
    "fix.fewer_loaders.title": "Fewer loader processes ({place})",
    "fix.fewer_loaders.risk": "loading may become the bottleneck",
    "fix.fewer_loaders.verify": "used host memory (free -g) stays level over an epoch",
    "fix.lean_load.title": "Load weights or data once for a host, not for each rank ({place})",
    "fix.lean_load.risk": "another way of loading: compare the loss of the first steps",
    "fix.lean_load.verify": "the peak of host memory at start-up goes down",
    "fix.allocator.title": "Let the CUDA allocator grow its segments ({place})",
    "fix.allocator.risk": "cures fragmentation only; some libraries that share memory dislike it",
    "fix.allocator.verify": "reserved and allocated memory in the error come closer",
    "fix.shared_gpu.title": "Find the other process on the GPU ({place})",
    "fix.shared_gpu.risk": "none: it only looks",
    "fix.shared_gpu.verify": "each GPU shows the processes of this job alone",
    "fix.more_host_memory.title": "See the memory limit, and ask for more ({place})",
    "fix.more_host_memory.risk": "a job that asks for more may wait longer in the queue",
    "fix.more_host_memory.verify": "the kernel log shows no new out-of-memory kill",
    # Ranks that differ
    "fix.even_steps.title": "Give all ranks the same number of steps ({place})",
    "fix.even_steps.risk": "a few samples at the end of an epoch are left out or repeated",
    "fix.even_steps.verify": "all ranks print the same number of batches before the epoch",
    "fix.unused_parameters.title": "Let ranks skip parameters or modules safely ({place})",
    "fix.unused_parameters.risk": "an extra pass over the graph in each step",
    "fix.unused_parameters.verify": "the step that hung passes, on the same data",
    "fix.out_of_branch.title": "Take the collective out of the branch that only some ranks enter",
    "fix.out_of_branch.risk": "none, when every rank issues the same calls in the same order",
    "fix.out_of_branch.verify": (
        "with TORCH_DISTRIBUTED_DEBUG=DETAIL no mismatch is reported at that step"
    ),
    "fix.detail.title": "Let PyTorch compare the ranks' calls in one run",
    "fix.detail.risk": "slow: for one run only",
    "fix.detail.verify": "the first mismatch is printed with both sides, and names the ranks",
    "fix.launch_order.title": "Let NCCL keep one order of launches over its communicators",
    "fix.launch_order.risk": "less overlap of communication; needs NCCL 2.26 or later",
    "fix.launch_order.verify": "the same run passes the step at which it hung",
    "fix.one_queue.title": "One hardware queue, so that kernels start in the order of the host",
    "fix.one_queue.risk": "less overlap on some models",
    "fix.one_queue.verify": "the same run passes the step at which it hung",
    # Compilation
    "fix.no_compile.title": "One run without compilation ({place})",
    "fix.no_compile.risk": "slower steps: it only shows whether compilation is what takes the time",
    "fix.no_compile.verify": "the first step comes within seconds",
    "fix.warm_cache.title": "Keep compiled kernels on a local disk, and fill that cache first",
    "fix.warm_cache.risk": "an old cache of another version must be deleted by hand",
    "fix.warm_cache.verify": "a second start reaches the first step much sooner",
    # Processes
    "fix.fix_exception.title": "Cure the exception of the rank that left, and let it leave at once",
    "fix.fix_exception.title.named": (
        "Cure the {exception} of {ranks:ranks} ({file}:{line}), and let it leave at once"
    ),
    "fix.fix_exception.risk": "os._exit skips clean-up; write checkpoints before it",
    "fix.fix_exception.verify": "the traceback is the last thing printed, seconds before the end",
    "fix.record_errors.title": "Let torchrun print the traceback of the rank that failed first",
    "fix.record_errors.risk": "none",
    "fix.record_errors.verify": "the launcher's table shows the error's text in place of N/A",
    "fix.stop_together.title": "End all ranks at once when one dies",
    "fix.stop_together.risk": "the other ranks have no time for a last save",
    "fix.stop_together.verify": "after a crash the GPUs are free within a minute",
    "fix.fault_handler.title": "Get the stack of the crash",
    "fix.fault_handler.risk": "core files are as large as the process",
    "fix.fault_handler.verify": "the next crash prints `Fatal Python error` with a stack",
    "fix.exclude_node.title": "Run without the node that the evidence names",
    "fix.exclude_node.risk": "fewer nodes; tell the administrators what was found",
    "fix.exclude_node.verify": "the same job runs through on other nodes",
    "fix.longer_limit.title": "A longer limit, and a restart that continues",
    "fix.longer_limit.risk": "longer jobs may wait longer in the queue",
    "fix.longer_limit.verify": "scontrol show job shows the new TimeLimit",
    "fix.keep_session.title": "Start the job so that it outlives the session",
    "fix.keep_session.risk": "nobody sees its end: look at the log",
    "fix.keep_session.verify": "the job runs on after the terminal is closed",
    # Links
    "fix.fast_path.title": "Remove the settings that take NCCL off its fast way",
    "fix.fast_path.risk": "the fault that they went around may return: then cure that",
    "fix.fast_path.verify": "NCCL_DEBUG=INFO shows `via P2P` or `via NET/IB`",
    "fix.transport_check.title": "See which way the data takes, and how fast it is",
    "fix.transport_check.risk": "none: for one run",
    "fix.transport_check.verify": "bus bandwidth near that of the link",
    "fix.interface.title": "Name the interface that reaches the other hosts, on each node",
    "fix.interface.risk": "an interface that carries the other hosts' addresses only",
    "fix.interface.verify": (
        "`NCCL INFO Bootstrap : Using` shows that interface and an address that the others reach"
    ),
    "fix.memlock.title": "Lift the limit of locked memory",
    "fix.memlock.risk": "needs the administrator, or another option of the container",
    "fix.memlock.verify": "`ulimit -l` prints unlimited inside the job",
    "fix.gid_index.title": "Use a GID that is valid on every node",
    "fix.gid_index.risk": "none on InfiniBand; on RoCE the index must be the v2 one",
    "fix.gid_index.verify": "the first all-reduce over the nodes completes",
    "fix.ib_patience.title": "Let InfiniBand wait longer for a lost packet",
    "fix.ib_patience.risk": "bridges a flapping link; a broken one is noticed minutes later",
    "fix.ib_patience.verify": "port counters (perfquery, ethtool -S) stay level over a run",
    "fix.ib_off.title": "One run over sockets, to prove that InfiniBand is at fault",
    "fix.ib_off.risk": "ten times slower or worse: a test, not a cure",
    "fix.ib_off.verify": "the error is gone, and the log shows `via NET/Socket`",
    "fix.p2p_off.title": "Go around GPU peer-to-peer",
    "fix.p2p_off.risk": "slower within the host; on machines with NVLink only as a test",
    "fix.p2p_off.verify": "the log shows `via SHM` in place of `via P2P`, and the job runs",
    "fix.acs_off.title": "Turn off what redirects peer-to-peer: ACS, IOMMU translation",
    "fix.acs_off.risk": "needs the administrator; virtual machines need ACS",
    "fix.acs_off.verify": "p2pBandwidthLatencyTest or nccl-tests passes with peer-to-peer on",
    "fix.more_shm.title": "Give the container more shared memory",
    "fix.more_shm.risk": "it counts as memory of the container",
    "fix.more_shm.verify": "`df -h /dev/shm` inside the container shows the new size",
    # Devices
    "fix.gpu_check.title": "Test the GPU, and read the kernel log",
    "fix.gpu_check.risk": "dcgmi diag needs a GPU without jobs",
    "fix.gpu_check.verify": "no error, no new Xid",
    "fix.fabric_manager.title": "Look after the fabric manager of the NVSwitches",
    "fix.fabric_manager.risk": "needs the administrator; a restart ends every job on the node",
    "fix.fabric_manager.verify": "Fabric State shows Completed, Status shows Success",
    "fix.blocking_launch.title": "One run that names the kernel at fault",
    "fix.blocking_launch.risk": "slow, and it may hide a race: for one run only",
    "fix.blocking_launch.verify": "the traceback ends at the line that launched the kernel",
    "fix.set_device.title": "Bind each rank to its GPU before the group is made",
    "fix.set_device.risk": "none",
    "fix.set_device.verify": "nvidia-smi shows one process for each GPU",
    # Start-up
    "fix.own_store.title": "Give each start of the job a store of its own",
    "fix.own_store.risk": "all nodes must set it alike",
    "fix.own_store.verify": "a restart connects: end one rank on purpose",
    "fix.free_port.title": "Take a port that is free",
    "fix.free_port.risk": "all nodes must use the same one",
    "fix.free_port.verify": "no `Address already in use`",
    "fix.one_endpoint.title": "One endpoint for all nodes, reachable from each of them",
    "fix.one_endpoint.risk": "none",
    "fix.one_endpoint.verify": "every node prints that it is reachable, and all ranks start",
    "fix.longer_rendezvous.title": "Wait longer for nodes that start late",
    "fix.longer_rendezvous.risk": "a node that never comes is noticed later",
    "fix.longer_rendezvous.verify": "the group forms when the last node joins",
    # Versions
    "fix.same_versions.title": "Bring all nodes to the same versions",
    "fix.same_versions.risk": "none",
    "fix.same_versions.verify": "the command prints the same line on every node",
    "fix.change_version.title": "Try the release after, and the one before",
    "fix.change_version.risk": "another release may bring another fault: one change at a time",
    "fix.change_version.verify": "the same run passes the point at which it failed",
}
