"""Sentences of the rules on start-up."""

SENTENCES: dict[str, str] = {
    "rendezvous.against_stopped": "此前作业已被外部终止",
    "rendezvous.against_failure": "某个进程先失败了；其他进程空等它",
    "rendezvous.against_timeout": "此前已有集合通信超时，说明启动曾经成功",
    "rendezvous.against_under_way": "此前训练已经开始，说明启动曾经成功",
    "CFG001.claim": "store 的端口 {port} 已被占用",
    "CFG001.claim_system": "store 被要求使用端口 {port}，而它属于某个系统服务",
    "CFG001.claim_unknown": "store 的端口已被占用",
    "CFG001.why": "没有在监听的 store，谁也无法加入作业。",
    "CFG002.claim": "各 rank 无法连接 {host}:{port} 上的 store",
    "CFG002.claim_resolve": "store 的主机名 {host} 无法解析",
    "CFG002.claim_unknown": "各 rank 无法连接 store，或不是所有节点都已加入",
    "CFG002.why": "rank 0（或该地址主机上的 agent）没有应答。",
    "CFG002.against": "防火墙，或 rank 0 正忙于慢的工作，从这里看是一样的",
    "CFG003.claim": "{expected} 个 rank 中只有 {joined} 个加入作业",
    "CFG003.claim_more": "{expected} 个 rank 的作业有 {joined} 个 rank 加入",
    "CFG003.claim_unknown": "不是所有 rank 都加入了作业",
    "CFG003.why": "加入的 rank 数达到所宣布的数目后，启动才能完成。",
    "CFG004.claim": "{owners:ranks} 从未写入 {waiters:ranks} 正在等的键",
    "CFG004.claim_nobody": "某个 rank 空等 store 里的一个键",
    "CFG004.why": (
        "等待的 rank 连上了 store。负责写该键的 rank 还没有到达第一个集合通信：它迟到或已失败。"
    ),
    "CFG004.against": "迟到的 rank 此时在做什么，日志里没有",
    "CFG004.against_phase": "可以看到有慢的工作正在进行，这解释了迟到",
    "CFG005.claim": "使用了尚未初始化、或无法初始化的进程组",
    "CFG005.why": "该进程会失败或独自训练，其他进程在等它。",
    "CFG006.claim_twice": "{twice:ranks} 报到了两次，而 {size} 个 rank 中的 {missing:ranks} 从未报到",
    "CFG006.claim_missing": "{size} 个 rank 中的 {missing:ranks} 从未报到",
    "CFG006.why": "误以为自己是同一节点的节点，或从未启动的节点，会使启动永远等待。",
    "CFG006.against": "其他节点的报到可能在它们自己的日志里",
    "CFG007.claim": "重启后各 rank 无法互连，而首次启动可以：它们读到了上一次启动的地址",
    "CFG007.why": (
        "从 torch 2.5 起，同一个 torchrun 的各次启动共用一个 store。"
        "若某个 rank 在对端写入之前读取，就会得到已退出进程的地址。"
    ),
    "CFG007.against": "网络也可能在此期间出了故障",
    "collect.port_owner.what": "谁在监听该端口",
    "collect.port_owner.how": "在 rank 0 的主机上执行 ss -ltnp",
    "collect.port_owner.decides": "占用者是上一次运行、别的作业还是系统服务",
    "collect.store_connection.what": "store 的地址是否应答",
    "collect.store_connection.how": "rank 0 等待时，在另一节点上执行 nc -vz HOST PORT",
    "collect.store_connection.decides": "是没有人监听，还是中间有阻拦",
    "collect.owner_stack.what": "迟到的 rank 在做什么",
    "collect.owner_stack.how": "在其主机上执行 py-spy dump --pid PID，并看它最后的日志行",
    "collect.owner_stack.decides": "它在加载数据、卡住了，还是已经失败",
}
