"""Sentences on what a watched run could not see or do (`lost` in `run.json` and on screens)."""

SENTENCES: dict[str, str] = {
    "words.of_ranks": "{ranks:ranks}：{what}",
    "words.of_host": "{host}：{what}",
    "lost.agent_died": (
        "负责读取各 rank 并作判断的代理进程中途退出，已重新启动：有 {gap:s} 无人观察；作业未受影响"
    ),
    "lost.agent_unstarted": "代理进程无法启动（{why}）：作业照常运行，但无人判断",
    "lost.agent_given_up": "代理进程退出次数过多，不再重启：此后无人判断作业，作业照常运行；见 {log}",
    "lost.agent_mute": "代理进程没有留下最后的话：它自己所见、所缺的内容不在本记录中",
    "lost.relay_killed": "`unhang run` 被强行终止：作业随之结束，其最后的输出和退出码未知",
    "lost.judge_failed": "判断程序出错（{why}）：这一时刻未作判断，作业不受影响",
    "lost.clock_jumped": (
        "本机时钟在 {at} 跳变了 {by:s}：本记录中的时间不受影响而继续，作业自己打印的时间则随之跳变；"
        "判断不依据该时钟"
    ),
    "lost.nothing_seen": (
        "没有看到任何训练进程，因此未对作业作任何判断：该命令之下没有能被观察的进程带有 RANK，"
        "也没有创建 torch 进程组（用 -I、-E 或 -S 启动的 Python、容器内和其他主机上的进程观察不到）"
    ),
    "lost.ranks_unseen": "共 {count} 个 rank，这里只看到 {seen} 个：其余的即使卡住也无法指出",
    "lost.no_torch": "始终没有导入 torch：看不到进程组和集合通信，无法判断谁在等谁",
    "lost.boards_unlisted": "无法列出各进程的状态文件（{why}）：当时看不到任何 rank",
    "lost.board_unreadable": "状态文件 {name} 无法读取（{why}）：当时看不到该进程",
    "lost.board_of_nobody": "状态文件 {name} 没有写明属于谁：看不到该进程",
    "lost.books_unwritten": "运行记录的一部分无法写入（{why}）",
    "lost.events_unwritten": "events.jsonl 有若干行无法写入（{why}）：本次运行的经过有缺漏",
    "lost.standing_unwritten": "standing.json 无法写入（{why}）：界面显示的是旧状态",
    "lost.history_unwritten": "history.sqlite 最后的样本无法写入（{why}）：回放时缺少它们",
    "lost.disk_silent": "运行目录所在的磁盘没有响应：运行记录的一部分没有写入",
    "lost.heartbeat_unwritten": (
        "代理进程无法写入心跳（{why}）：探针长时间收不到心跳时，会恢复作业自己的超时"
    ),
    "lost.order_unwritten": "给探针的指令无法写入（{why}）：某次转储或超时修改没有发生",
    "lost.verdict_unwritten": "结论无法保存在证据旁边（{why}）",
    "lost.evidence_unwritten": "转储和调用栈无法复制到运行目录（{why}）",
    "lost.copies_unfinished": "磁盘写不进输出副本的剩余部分：副本缺少结尾",
    "lost.copies_slow": "输出副本缺少 {stream} 的 {size:bytes}：磁盘太慢",
    "lost.copies_failed": "输出副本缺少 {stream} 的 {size:bytes}（{why}）",
    "lost.copies_bounded": "输出副本缺少 {stream} 中间的 {size:bytes}：副本大小有上限",
    "lost.record_unwritten": "run.json 无法更新（{why}）；本应写入的内容如下",
    "lost.no_verdict": "没有结论：诊断失败（{why}）",
    "lost.no_bundle": "没有证据包：采集失败（{why}）",
    "lost.bundle_late": "没有证据包：采集超过 {limit:s}，不再等待",
    "lost.bundle_interrupted": (
        "代理进程在采集第 {number} 次转储的证据时退出：没有证据包；已写下的内容仍在运行目录中"
    ),
    "lost.stacks_untaken": "没有调试器能读取原生调用栈（{why}）",
    "lost.hook_unstarted": "--on-hang 的命令无法启动（{why}）",
    "lost.not_told": "无法通知 {target}（{why}）",
    "lost.collector_unheard": "本节点无法接收其他节点的报告（{why}）：只判断自己的 rank",
    "lost.one_node_only": (
        "共有 {nodes} 个节点，而本节点只看到自己的 rank：加上 --shared DIR 或 --collector URL，"
        "就由一处看到全部"
    ),
    "lost.judge_unreachable": "无法联系负责判断的节点（{why}）：无人判断本节点的 rank",
    "lost.judge_gap": "曾有 {gap:s} 无法联系负责判断的节点：当时无人判断本节点的 rank",
    "lost.evidence_undelivered": "第 {number} 次转储的证据无法送达负责判断的节点",
    "lost.shared_silent": "共享目录没有响应（{why}）：各节点互相收不到消息",
    "lost.file_refused": "未接收 {node} 的一个文件（{why}）",
    "lost.probe_freeze": "如果该进程冻结，运行目录中不会有它的调用栈（{why}）",
    "lost.probe_beat": "探针心跳出错（{why}）：有一段时间只能通过 /proc 看到该进程",
    "lost.probe_stack": "无法读取主线程的调用栈（{why}）",
    "lost.probe_usage": "无法读取 CPU 时间、内存和字节数（{why}）",
    "lost.probe_torch": "无法读取 torch 的版本和设备（{why}）",
    "lost.probe_ranks": "无法读取 rank（{why}）",
    "lost.probe_groups": "无法读取进程组（{why}）",
    "lost.probe_recorder": "无法读取 Flight Recorder（{why}）：谁在等哪个集合通信只能由调用栈判断",
    "lost.probe_recorder_absent": (
        "torch {why} 没有 Flight Recorder：谁在等哪个集合通信只能由调用栈判断，也没有它的转储"
    ),
    "lost.probe_recorder_off": (
        "Flight Recorder 已被关闭（{why}）：谁在等哪个集合通信只能由调用栈判断，也没有它的转储"
    ),
    "lost.probe_recorder_nccl": (
        "torch {why} 只记录 NCCL 的集合通信：在其他后端，谁在等哪个集合通信只能由计数和调用栈判断"
    ),
    "lost.probe_exit": "无法读取该进程如何结束（{why}）",
    "lost.probe_timeouts": "无法接管各进程组的超时（{why}）",
    "lost.probe_timeout_kept": "进程组 {why} 保留自己的超时：这个版本的 torch 不能修改已有进程组的超时",
    "lost.probe_dump": "某次转储不完整（{why}）",
    "lost.probe_deadman": "看门开关一时出错（{why}）",
    "lost.probe_judge_silent": "判断程序没有消息：程序自己的超时重新生效",
    "lost.probe_judge_back": "判断程序曾一度没有消息，当时程序自己的超时生效",
    "lost.probe_full_members": "状态文件已满：略去了大进程组的成员",
    "lost.probe_full_stacks": "状态文件已满：略去了较深的调用栈",
    "lost.probe_full_groups": "状态文件已满：略去了没有动静的进程组",
}
