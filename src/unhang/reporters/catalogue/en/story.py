"""Sentences of the story: one step of what happened each."""

SENTENCES: dict[str, str] = {
    "story.stop.interrupt": "the job is interrupted from the keyboard (Ctrl-C)",
    "story.stop.cancelled": "the job is cancelled",
    "story.stop.time-limit": "the scheduler's time limit is reached",
    "story.stop.preempted": "the job is preempted",
    "story.stop.terminated": "the launcher receives SIGTERM",
    "story.stop.hangup": "the session is closed (SIGHUP)",
    "story.stop.evicted": "the pod is evicted",
    "story.stop.node-failed": "a node is lost",
    "story.restart": "the launcher restarts the workers",
    "story.start": "the job is started again",
    "story.phase": "under way: {detail}",
    "story.phase_lasted": "under way, for {lasted_s:s} so far: {detail}",
    "story.failure.raised": "a Python exception ends {count} {count:|process|processes}",
    "story.failure.gpu-oom": "GPU memory runs out in {count} {count:|process|processes}",
    "story.failure.host-oom": (
        "host memory runs out; {count} {count:|process is|processes are} killed"
    ),
    "story.failure.killed": "{count} {count:|process is|processes are} killed (SIGKILL)",
    "story.failure.crashed": "{count} {count:|process crashes|processes crash}",
    "story.failure.device": "a CUDA error ends {count} {count:|process|processes}",
    "story.failure.nccl": "NCCL reports an error in {count} {count:|process|processes}",
    "story.failure.exited": "{count} {count:|process leaves|processes leave} with an error code",
    "story.failure.peer": (
        "{count} {count:|process fails|processes fail} because another one is gone or late"
    ),
    "story.timeout": "{op} is given up",
    "story.timeout_after": "{op} is given up after its timeout of {timeout_ms:ms}",
}
