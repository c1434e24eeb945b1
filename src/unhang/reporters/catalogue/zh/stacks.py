"""Sentences about live stacks: where the ranks stand, and the rules that judge it."""

SENTENCES: dict[str, str] = {
    "event.ThreadStack": "运行中进程的某个线程的调用栈（{kind}）",
    "means.ThreadStack": (
        "它显示进程当时所在的位置。与其他 rank 比较：不在集合通信里的那个，就是大家在等的。"
    ),
    "label.standings": "各 rank 所在位置",
    "standing.ranks": "{ranks:ranks}",
    "standing.ranks_more": "{ranks:ranks} 以及 {count} 个没有编号的进程",
    "standing.unnamed": "{count} 个进程",
    "standing.waits": "在 {op} 中等待其他 rank",
    "standing.waits_phase": "在 {op} 中等待其他 rank（{phase}）",
    "standing.steps": "在模型的训练步中",
    "standing.device": "等待 GPU",
    "standing.works": "{phase}",
    "standing.storage": "等待存储",
    "standing.locked": "等待锁、队列或子进程",
    "standing.storage_phase": "{phase}，等待存储",
    "standing.locked_phase": "{phase}，等待锁、队列或子进程",
    "standing.collects": "正在垃圾回收",
    "standing.code": "在程序自己的代码中",
    "standing.place": "{doing}：{frame}",
    "standing.place_short": "{doing}，由 {code} 调用",
    "standing.place_code": "{doing}：{frame}，由 {code} 调用",
    "standing.place_own": "{doing}：{code}",
    "label.more_standings": "… 另有 {count} 处",
    "LOC201.claim": "{ranks:ranks} 位于 {place}，而 {waiters:ranks} 在等待。",
    "LOC201.why": (
        "这些进程的调用栈都已取得：{waiters:ranks} 停在 {op}，它要等每个 rank 都到达才会结束。"
    ),
    "LOC203.claim": (
        "{ranks:ranks}：某个线程在原生代码中一直占着 Python 解释器锁（{thread}），而其他线程需要它。"
    ),
    "LOC203.why": "在该原生调用返回之前，进程里别的代码都无法运行，看门狗也不例外。",
    "LOC204.claim": "{ranks:ranks} 停在内核的文件系统中（{frame}）。",
    "LOC204.why": "某个存储系统调用不返回；这样的进程往往连杀都杀不掉。",
    "SLO201.claim_save": "{ranks:ranks} 正在保存检查点（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_load": "{ranks:ranks} 正在加载模型或检查点（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_data": "{ranks:ranks} 正在准备数据（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_eval": "{ranks:ranks} 正在评估（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_generate": "{ranks:ranks} 正在生成（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_logging": "{ranks:ranks} 正在写日志（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_compile": "{ranks:ranks} 正在编译或预热（`{frame}`），而 {waiters:ranks} 在等待",
    "SLO201.claim_teardown": (
        "{ranks:ranks} 已离开训练循环（`{frame}`），而 {waiters:ranks} 还在其中等待"
    ),
    "SLO201.why": (
        "取得了 {count} 个进程的调用栈，只有 {ranks:ranks} 不在集合通信里；程序自己的位置是 {code}。"
    ),
    "SLO201.against_by_name": "只是程序里的函数名说明它在做什么（{code}）。",
    "SLO201.against_no_alarm": "没有看到超时：正常的作业在某一刻也会是这个样子。",
    "SLO201.against_silent": "{ranks:ranks} 没有留下调用栈。",
    "DSY201.claim": (
        "{ranks:ranks} 在 {op} 中等待（{code}），其他 rank 在 {other_op} 中等待（{other_code}）"
    ),
    "DSY201.claim_nobody": "有的 rank 在 {op} 中等待（{code}），有的在 {other_op} 中（{other_code}）",
    "DSY201.claim_past": (
        "{ranks:ranks} 已离开 {others:ranks} 仍在其中的循环，并在 {op} 中等待（{code}）"
    ),
    "DSY201.why": "所见的 rank 都在等别人，没有谁在工作；从 {parts_at} 起它们走了不同的路。",
    "DSY201.against_groups": "两者可能属于不同的进程组。",
    "collect.other_stacks.what": "{ranks:ranks} 的调用栈",
    "collect.other_stacks.how": "现在就对这些进程逐个执行 `py-spy dump --pid PID`",
    "collect.other_stacks.decides": "其中是否有其他 rank 正在等的那一个",
}
