"""Sentences about what to collect next: what, how, and what it decides."""

SENTENCES: dict[str, str] = {
    "collect.silent_logs.what": "{ranks:ranks} 的日志",
    "collect.silent_logs.how": (
        "用 `torchrun --log-dir logs --redirects 3 --tee 3` 启动（或让 srun 的每个任务写一个"
        "输出文件），并提供整个目录"
    ),
    "collect.silent_logs.decides": "没有日志的 rank 是最先失败、迟到，还是同样在等待",
    "collect.all_logs.what": "所有 rank 从作业开始起的完整日志",
    "collect.all_logs.how": "用 `torchrun --log-dir logs --redirects 3 --tee 3` 启动，并提供整个目录",
    "collect.all_logs.decides": "哪个 rank 最先失败或缺席",
    "collect.kernel_log.what": "该节点的内核日志",
    "collect.kernel_log.how": "在该节点上执行 `dmesg -T | tail -n 500`（或 `journalctl -k`）",
    "collect.kernel_log.decides": "内核是否因内存不足杀死了该进程（OOM）",
    "collect.detail.what": "第一处不一致，含双方内容",
    "collect.detail.how": "加上 `TORCH_DISTRIBUTED_DEBUG=DETAIL` 运行一次",
    "collect.detail.decides": "哪个 rank 发起了不同的集合通信，是哪一个",
    "collect.nccl_info.what": "NCCL 自己的启动日志",
    "collect.nccl_info.how": (
        "加上 `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV"
        " NCCL_DEBUG_FILE=nccl.%h.%p.log` 运行一次"
    ),
    "collect.nccl_info.decides": "哪个 rank 从未开始建立通信器，用的是哪块网卡和哪种传输",
    "collect.flight_recorder.what": "所有 rank 的 Flight Recorder 转储",
    "collect.flight_recorder.how": (
        "加上 `{variable}=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"
        " TORCH_NCCL_DEBUG_INFO_TEMP_FILE=/shared/fr_trace_rank_` 运行一次"
    ),
    "collect.flight_recorder.decides": "哪个 rank 没有发起该集合通信，或发起了另一个",
    "collect.stacks.what": "卡住时所有 rank 的调用栈",
    "collect.stacks.how": "在超时之前，对每个训练进程执行 `py-spy dump --pid PID`",
    "collect.stacks.decides": "迟到的 rank 在做什么",
    "collect.before.what": "超时之前的日志：每个 rank 最后的进度行",
    "collect.before.how": "请提供完整日志，而不只是结尾",
    "collect.before.decides": "所处阶段：保存、评估、加载数据、编译还是训练",
}
