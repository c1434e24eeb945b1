"""Sentences about what each kind of source says, and about files that were refused."""

SENTENCES: dict[str, str] = {
    "CFG201.claim": (
        "警告：{count} 个文件带有代码，已被拒绝，其中的内容没有运行：{files}（{detail}）。"
    ),
    "CFG201.why": "没有任何记录器会写出这种内容：查清是谁写的，不要用其他工具加载它。",
    "CFG201.claim_unsafe": "警告：已拒绝 {files}：{detail}。",
    "CFG201.why_unsafe": "没有任何记录器会写出这种文件：查清它从哪里来。",
    "LOC110.claim": "{ranks:ranks} 的 {count} 份转储是空的（0 字节）。",
    "LOC110.claim_waited": "{ranks:ranks} 的转储是空的（0 字节），而其他所有 rank 都在等它。",
    "LOC110.why": "留下空文件的进程在写入时被终止，或卡在写入之前。",
    "LOC208.claim": "NCCL Inspector 看到的最后一个结束的集合操作是通信器 {comm} 的 {op} #{seq}。",
    "LOC208.claim_fewer": (
        "NCCL Inspector 看到的最后一个结束的集合操作是通信器 {comm} 的 {op} #{seq}；"
        "{ranks:ranks} 写下的更少。"
    ),
    "LOC208.why": "卡住的操作不会被写下：此后没有任何操作结束。",
    "LOC209.claim": "{ranks:ranks} 不应答 torch 的调试服务器，而其他 rank 都给出了调用栈。",
    "LOC209.why": "每个进程都有一个线程负责应答：不应答的进程已退出，或无法到达。",
    "LOC209.why_expired": (
        "每个进程都有一个线程负责应答：这个进程始终轮不到它，例如另一个线程一直占着 Python 解释器锁。"
    ),
    "SLO202.claim": "{ranks:ranks} 一再比其他所有 rank 晚 {late:s}加入 {op}。",
    "SLO202.claim_unknown": "某通信器的 rank {rank} 一再比其他所有 rank 晚 {late:s}加入 {op}。",
    "SLO202.why": "它的内核耗时远比别人短：最后到的不必等任何人。",
    "SLO202.against": "卡住之前慢的，不一定就是卡住的原因。",
    "NET202.claim": ("{size:bytes} 的 {op} 的总线带宽从 {before:.1f} GB/s 降到 {after:.1f} GB/s。"),
    "NET202.why": "连最后到达、其内核不等任何人的 rank 也变慢了。",
    "NET202.against": "没有信息说明超时的操作是慢还是停住了。",
    "event.CollectivesMeasured": (
        "NCCL Inspector 记录了通信器 {comm} 的集合操作耗时，直到 {last_op} #{last_seq}"
    ),
    "means.CollectivesMeasured": "它只写下已结束的操作：能看出谁慢，看不出谁缺席。",
    "event.StackRefused": "某个进程被要求给出调用栈而没有给出（状态 {status}）",
    "means.StackRefused": "在其他所有 rank 都等待时，唯一不给出调用栈的那个值得怀疑。",
    "event.DumpUnusable": "一个冒充 Flight Recorder 转储的文件：{flaw}（{detail}）",
    "means.DumpUnusable": "它对作业没有说明任何事；其他转储已读取。",
    "label.sources": "各个来源怎么说",
    "source.logs": "日志",
    "source.watch": "实时判官",
    "source.dumps": "Flight Recorder",
    "source.stacks": "调用栈",
    "source.ras": "NCCL 的 RAS",
    "source.kernel": "内核日志",
    "source.hosts": "主机报告",
    "source.measurements": "测量",
    "source.against": "{claim}但是：{against}",
    "bearing.proves": "证明：{source}",
    "bearing.supports": "支持：{source}",
    "bearing.contradicts": "反对：{source}",
    "bearing.adds": "补充：{source}",
    "LOC210.claim": (
        "NCCL 的 RAS 发现 {ranks:ranks} 处于 {status} 状态，而另外 {others} 个 rank 正在运行。"
    ),
    "LOC210.claim_nobody": (
        "NCCL 的 RAS 发现 {count} 个 rank 处于 {status} 状态，而另外 {others} 个 rank 正在运行。"
    ),
    "LOC210.why_left": "已离开的 rank 不会再发起任何操作；正在运行的都在等它。",
    "LOC210.why": "尚未加入的 rank 不会发起任何操作；正在运行的都在等它。",
    "LOC207.claim": "NCCL 的 RAS 在全部 {count} 个 rank 上数到的发起次数相同，而 {op} 仍在等待。",
    "LOC207.why": (
        "就 RAS 所见，没有 rank 漏掉调用：要么 GPU 或网络没有完成它，要么等待的组还没有通信器。"
    ),
    "LOC207.against": "RAS 数的是发起而不是完成；这份应答没有时间，可能是另一时刻的。",
    "DEV202.claim": "{ranks:ranks} 在同一块 GPU 上计算，即 nvidia-smi 表中的第 {gpu} 号。",
    "DEV202.claim_unknown": "{count} 个进程在 GPU {gpu} 上计算，而另有 GPU 没有进程。",
    "DEV202.why": "NCCL 要求每个 rank 有自己的 GPU；两个在同一块上会互相等待内核。",
    "DEV202.against": "没有信息说明两个进程是否都属于此作业。",
    "DEV203.claim": "不属于此作业的进程 {pid}（{name}）占用 GPU {gpu} 的 {held:bytes}。",
    "DEV203.why": "作业分配失败时缺少的正是这部分显存。",
    "DEV204.claim": "{hosts} 只显示 {count} 块 GPU，而其他主机显示 {usual} 块。",
    "DEV204.claim_link": "{hosts} 的 GPU {gpu} 没有任何 NVLink，而其他 GPU 都有。",
    "DEV204.why": "掉出总线的 GPU 不再列出；其 rank 的内核永远不会结束。",
    "DEV204.against": "这类报告没有时间，各主机也可能本来就不同。",
    "NET203.claim": "NCCL 让 GPU {one} 与 {other} 直接相连，而它们相距很远（{kind}）。",
    "NET203.why": "这样的传输要经过主机的桥，IOMMU 或 ACS 可能把它吞掉。",
    "NET203.against": "这种布局的主机大多工作正常。",
    "event.TopologySeen": "一台主机上 GPU 的连接方式",
    "means.TopologySeen": "布局本身不是故障：它只为其他说法提供支持或反证。",
    "event.GpuState": "GPU {index}（{bus_id}）的状态",
    "means.GpuState": "这类报告没有时间：与作业对这块 GPU 的说法对照。",
    "event.GpuProcess": "进程 {pid} 在 GPU {gpu} 上计算",
    "means.GpuProcess": "一块 GPU 上有同一作业的两个进程，或有别的作业的进程，都值得怀疑。",
}
