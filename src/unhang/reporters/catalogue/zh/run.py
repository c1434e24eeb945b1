"""Sentences of a watched run: what the agent did, and what it could not."""

SENTENCES: dict[str, str] = {
    "run.watching": "正在监视；运行目录为 {path}",
    "run.captured": "挂死现场的全部证据在 {path}",
    "run.aborted": "已终止挂死的作业，以便启动器重新启动它",
    "run.abandoned": "`unhang run` 被强行终止：作业随之结束",
    "run.notified": "已通知 {target}",
    "run.leftover": "进程 {pids} 在启动器结束后仍在运行，已被终止",
}
