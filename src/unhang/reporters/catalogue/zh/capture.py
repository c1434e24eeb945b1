"""What a capture says."""

SENTENCES: dict[str, str] = {
    "capture.done": "已写入 {path}：{files} 个文件，{size:bytes}，用时 {seconds:s}",
    "capture.seen": "{host} 上的 {ranks:ranks}（{processes} 个进程）",
    "capture.seen_no_rank": "{host} 上的 {processes} 个进程；没有一个说明自己的 rank（环境变量中没有 RANK）",
    "capture.seen_nobody": "{host} 上没有该作业的进程在运行",
    "capture.redacted": "已脱敏：{kinds}",
    "capture.names_replaced": "主机名、用户名、地址和路径已替换为代号",
    "capture.names_stay": "其中含有主机名、用户名和路径；`--redact-hosts` 会将其替换",
    "capture.next": "用 `unhang diagnose {path}` 诊断，最好连同所有节点的采集包一起",
    "capture.fate.taken": "已采集",
    "capture.fate.partly": "部分采集",
    "capture.fate.refused": "被拒绝",
    "capture.fate.timed_out": "超时",
    "capture.fate.absent": "此处没有",
    "capture.why.not_installed": "没有安装 {program}",
    "capture.why.no_device": "没有找到 {what}",
    "capture.why.nothing": "{what} 没有给出任何内容",
    "capture.why.nothing_since": "自作业开始以来的 {seconds:s} 内没有任何一行",
    "capture.why.no_file": "没有 {path}",
    "capture.why.older": "{path} 比该进程更早",
    "capture.why.no_dump": "torch 没有写出 Flight Recorder 转储（TORCH_FR_BUFFER_SIZE > 0 时才记录）",
    "capture.why.no_faulthandler": "它没有打开由 `faulthandler` 写入的文件",
    "capture.why.no_rank": "该进程没有说明自己的 rank",
    "capture.why.no_process": "没有找到该作业的进程",
    "capture.why.no_job": "该作业不属于 {scheduler}",
    "capture.why.no_ras": "{address} 没有应答（{error}）",
    "capture.why.no_log_file": "它没有写入自己的文件（{target}）",
    "capture.why.in_run_folder": "它的输出在运行目录中",
    "capture.why.ended": "进程 {pid} 已结束",
    "capture.why.no_environment": "无法读取进程 {pid} 的环境变量：它属于其他用户，或已卡住",
    "capture.why.denied": "当前用户无权读取 {path}",
    "capture.why.unreadable": "{path}：{error}",
    "capture.why.read_hangs": "读取 {path} 一直不返回",
    "capture.why.ptrace": (
        "{program} 无权查看该进程：需要同一用户且 `kernel.yama.ptrace_scope=0`，"
        "或 CAP_SYS_PTRACE（容器：`--cap-add SYS_PTRACE`）"
    ),
    "capture.why.kernel_log": (
        "{program} 无权读取内核日志：需要 root，或 `kernel.dmesg_restrict=0`"
    ),
    "capture.why.uninterruptible": (
        "进程 {pid} 在内核中等待，无法被打断（状态 D）；它的内核栈说明停在哪里"
    ),
    "capture.why.stopped": "进程 {pid} 已被人为停住（状态 T），查看它会使它继续运行",
    "capture.why.signal_not_caught": (
        "进程 {pid} 没有捕获信号 {signal}，会因此终止；没有发送任何信号"
    ),
    "capture.why.failed": "{program}：{text}",
    "capture.why.broke": "无法使用（{text}）",
    "capture.why.full": "采集包容纳不下另外 {size:bytes}",
    "capture.why.timed_out": "{limit:s} 内没有应答",
    "capture.why.no_time": "还没轮到它，时间已到",
}
