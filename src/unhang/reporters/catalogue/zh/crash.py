"""Sentences of the crash rules."""

SENTENCES: dict[str, str] = {
    "crash.against_long_before": (
        "其他 rank 在此半小时以后才开始等待：若时钟一致，它属于更早的一次运行"
    ),
    "crash.against_stopped": "此前作业已被外部终止",
    "crash.against_earlier_failure": "此前另一个进程已经失败",
    "crash.against_late": "此前已有集合通信超时",
    "CRA001.claim": "{ranks:ranks} 抛出异常并退出：{error}",
    "CRA001.claim_all": "{count} 个进程抛出同一个异常：{error}",
    "CRA001.claim_nobody": "某个进程抛出异常并退出：{error}",
    "CRA001.why": (
        "抛出异常的进程不会再发起下一个集合通信。其他进程在其中等待，直到被看门狗或启动器结束。"
    ),
    "CRA001.against_communication": "在此异常之前，rank 之间已无法连通",
    "CRA001.against_cut": "traceback 的最后一行缺失",
    "CRA001.against_joined": "抛出异常的进程已加入那个卡住的集合通信",
    "CRA001.against_thread": "异常发生在辅助线程里，进程本身仍在运行",
    "CRA002.claim": "{ranks:ranks} 的主机内存耗尽",
    "CRA002.claim_nobody": "作业的某个进程耗尽了主机内存",
    "CRA002.claim_killed": "{ranks:ranks} 被 SIGKILL 结束，很可能是主机内存不足",
    "CRA002.claim_killed_nobody": "某个进程被 SIGKILL 结束，很可能是主机内存不足",
    "CRA002.why": (
        "内存耗尽时，内核用 SIGKILL 结束进程。它不会留下 traceback，"
        "其他进程则在下一个集合通信里等它。"
    ),
    "CRA002.why_killed": (
        "日志中没有谁发出这个 SIGKILL：不是启动器、调度器，也不是人。"
        "通常的发送者是内核的 OOM killer。"
    ),
    "CRA002.against_everybody": "所有进程都被杀死，这更像人或调度器所为",
    "CRA002.against_others": "另有进程以错误退出，而启动器会杀死其余进程",
    "CRA002.against_only_named": ("被杀的进程与此作业之间只有名字或时间相符"),
    "CRA002.claim_beside": "作业所在主机上有进程因内存不足被杀",
    "CRA002.against_beside": "从名字或时间看，它不属于此作业",
    "CRA002.against_sender": "人或监控程序也会发 SIGKILL；以内核日志为准",
    "CRA003.claim": "{ranks:ranks} 因 {signal} 崩溃",
    "CRA003.claim_nobody": "有进程因 {signal} 崩溃（共见到 {count} 个）",
    "CRA003.why": (
        "原生代码崩溃不会留下 Python traceback。该进程不会再发起下一个集合通信，其他进程在等它。"
    ),
    "CRA003.against_abort": "进程被自己的看门狗结束时，也会 abort",
    "CRA004.claim": "节点 {host} 丢失",
    "CRA004.claim_nobody": "作业的一个节点丢失",
    "CRA004.why": "丢失节点上的所有 rank 同时消失，其他节点在等它们。",
    "CRA004.against": "作业失败之后或网络中断时，agent 也会失去联系",
    "CRA006.claim": "数据加载进程因共享内存（/dev/shm）已满而退出",
    "CRA006.claim_rank": "某个进程被 SIGBUS 结束，很可能是 /dev/shm 已满",
    "CRA006.why": (
        "数据加载进程通过 /dev/shm 里的文件传递批次。空间用尽后，首次访问某页就会触发总线错误。"
    ),
    "CRA006.against_stopped": "此前作业已被外部终止",
    "CRA007.claim": "{ranks:ranks} 失败：文件系统或配额已满",
    "CRA007.claim_nobody": "某个进程失败：文件系统或配额已满",
    "CRA007.why": "写文件的进程抛出异常并退出，其他进程在等它。",
    "CRA008.claim": "{ranks:ranks} 以错误退出，日志没有说明原因",
    "CRA008.claim_nobody": "某个进程以错误退出，日志没有说明原因",
    "CRA008.why": "日志中既没有 traceback，也没有任何进程的其他原因。",
    "CRA009.claim": "数据加载进程被杀，很可能是主机内存不足",
    "CRA009.why": ("这些进程持有数据集的副本和预取的批次，主机内存耗尽时内核最先结束它们。"),
    "CRA009.against_sender": "人或监控程序也会杀进程；以内核日志为准",
    "collect.kernel_log.what": "被杀进程所在主机的内核日志",
    "collect.kernel_log.how": "dmesg -T | grep -i -E 'killed process|out of memory'",
    "collect.kernel_log.decides": "是内核因内存不足杀死了它，还是别人",
    "collect.crash_stack.what": "崩溃时的调用栈",
    "collect.crash_stack.how": "加上 PYTHONFAULTHANDLER=1 运行，或使用 coredumpctl info",
    "collect.crash_stack.decides": "是哪个库崩溃",
    "collect.shm_space.what": "容器内共享内存的大小",
    "collect.shm_space.how": "作业运行时执行 df -h /dev/shm",
    "collect.shm_space.decides": "是 /dev/shm 已满，还是被映射的文件遭截断",
    "collect.rank_traceback.what": "最先退出的进程的输出",
    "collect.rank_traceback.how": "torchrun --log-dir logs --redirects 3 --tee 3，或使用 @record",
    "collect.rank_traceback.decides": "使其结束的异常",
}
