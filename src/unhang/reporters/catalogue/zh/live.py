"""Sentences of the judge while the job lives: notes in `events.jsonl`, and claims."""

SENTENCES: dict[str, str] = {
    "live.attached": "开始监视 {host} 上的 {ranks:ranks}",
    "live.phase": "{ranks:ranks} 进入阶段 {phase}",
    "live.governed": "{ranks:ranks} 所有进程组的超时现为 {limit:ms}",
    "live.exited": "{ranks:ranks} 已结束",
    "live.failed": "{ranks:ranks} 失败：{told}",
    "live.vanished": "{ranks:ranks} 已结束，结束方式未知",
    "live.finished": "命令已结束，退出码 {code}",
    "live.failed_first": "命令已结束，退出码 {code}；最先失败的是 {ranks:ranks}",
    "live.left_first": "命令已结束，退出码 {code}；{ranks:ranks} 最先结束，其他 rank 因此失败",
    "live.hung": "命令在 {ranks:ranks} 处卡住之后结束，退出码 {code}",
    "live.hung_nobody": "命令在卡住之后结束，退出码 {code}",
    "live.lost": "{text}",
    "live.host_silent": "{host}（{ranks:ranks}）已没有消息；不据此指责它们",
    "live.contested": "有两个存活的进程自称同一个 rank：在分不清谁与谁一组期间，不作判断",
    "live.resumed": "{ranks:ranks} 在 {waited:s} 后继续前进",
    "live.gone": "{ranks:ranks} 的进程已不在{told}，而 {victims:ranks} 在 {op} 中等它",
    "live.raised": "{ranks:ranks} 因异常而结束{told}，而 {victims:ranks} 在 {op} 中等它",
    "live.left": "{ranks:ranks} 已运行完毕，而 {victims:ranks} 仍在 {op} 中等它",
    "live.stopped": (
        "{ranks:ranks} 的进程已被暂停 {still:s}（SIGSTOP 或调试器），而 {victims:ranks} 在 {op} 中等待"
    ),
    "live.gil_kept": (
        "{ranks:ranks} 已有 {still:s} 没有执行任何 Python：原生代码占着解释器锁，最后位置 {place}；"
        "{victims:ranks} 在 {op} 中等待"
    ),
    "live.uninterruptible": (
        "{ranks:ranks} 已被内核挂住 {still:s}（状态 D：存储或设备），最后位置 {place}；"
        "{victims:ranks} 在 {op} 中等待"
    ),
    "live.silent": (
        "{ranks:ranks} 已有 {still:s} 没有消息，最后位置 {place}；{victims:ranks} 在 {op} 中等待"
    ),
    "live.asleep": (
        "{ranks:ranks} 在 {place} 已有 {still:s} 毫无动静（无 CPU 时间、无字节、无步数），"
        "而 {victims:ranks} 在 {op} 中等待"
    ),
    "live.spinning": (
        "{ranks:ranks} 在 {place} 处已计算 {still:s} 而没有前进一步，{victims:ranks} 在 {op} 中等待；"
        "死循环就是这个样子"
    ),
    "live.mismatch": "{all:ranks} 在同一序号下等待不同的调用：{ops:ops}",
    "live.mismatch_odd": (
        "{ranks:ranks} 发起的调用与 {victims:ranks} 不同（组内序号 {seq}）；谁都无法完成"
    ),
    "live.circle": "{all:ranks} 在不同进程组的调用中互相等待",
    "live.circle_odd": (
        "{ranks:ranks} 与 {victims:ranks} 在不同的调用中互相等待；多数 rank 等待的 {op} 缺少"
        " {ranks:ranks}"
    ),
    "live.together": (
        "{all:ranks} 全都在 {op} 中等待了 {still:s}：或者各调用之间有此处看不到的差异，或者网络不通"
    ),
    "live.never_came": "看不到 {ranks:ranks} 的任何迹象，而 {victims:ranks} 在 {op} 中等待",
    "live.at_work": (
        "{ranks:ranks} 正在工作（阶段 {phase}，{place}）；{victims:ranks} 已在 {op} 中等待 {waited:s}"
    ),
    "live.at_work_code": (
        "{ranks:ranks} 正在 {place} 工作；{victims:ranks} 已在 {op} 中等待 {waited:s}"
    ),
    "event.HoldUp": "实时监视看到有 rank 拖住了其他 rank（{charge}，{stage}）",
    "means.HoldUp": "这是 `unhang run` 的最后一次观察：谁等谁、等了多久、被等的 rank 处于什么状态。",
    "LOC301.why": (
        "作业运行时所有进程都受监视：{victims:ranks} 在 {op} 中等待了 {waited:s}，而集合通信需要所有 rank。"
    ),
    "LOC302.why": (
        "作业运行时所有进程都受监视：{victims:ranks} 在 {op} 中等待了 {waited:s}，"
        "没有 {ranks:ranks} 它无法完成。"
    ),
    "DSY301.mismatch": "{all:ranks} 在其组的序号 {seq} 下等待不同的调用",
    "DSY301.circle": "{all:ranks} 在不同进程组的调用中互相等待",
    "DSY301.why": "它们都以同一序号发起了调用并在等待，没有 rank 在别处，而这些调用并不相同。",
    "DSY301.why_circle": "每个调用都缺少在另一个调用中等待的 rank，没有 rank 在别处。",
    "SLO301.stood_save": "{ranks:ranks} 停在保存检查点 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_load": "{ranks:ranks} 停在加载模型或检查点 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_data": "{ranks:ranks} 停在准备数据 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_eval": "{ranks:ranks} 停在评估 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_generate": "{ranks:ranks} 停在生成 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_logging": "{ranks:ranks} 停在写日志 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.stood_compile": "{ranks:ranks} 停在编译 {still:s}（{place}），而 {victims:ranks} 在等待",
    "SLO301.why_stood": "那里没有 CPU 时间、字节或步数的变化，且已超过该阶段通常的时长。",
    "SLO301.worked_save": "{ranks:ranks} 正在保存检查点（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_load": "{ranks:ranks} 正在加载模型或检查点（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_data": "{ranks:ranks} 正在准备数据（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_eval": "{ranks:ranks} 正在评估（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_generate": "{ranks:ranks} 正在生成（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_logging": "{ranks:ranks} 正在写日志（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.worked_compile": "{ranks:ranks} 正在编译（{place}），{victims:ranks} 等待了 {waited:s}",
    "SLO301.why_worked": "直到最后它的 CPU 时间、字节或调用栈都在变化：它在工作，只是其他 rank 先放弃或被终止了。",
}
