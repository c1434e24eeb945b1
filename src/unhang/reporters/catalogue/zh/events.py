"""What each kind of event says, and what it means for somebody who looks for the cause."""

SENTENCES: dict[str, str] = {
    "event.BandwidthMeasured": "nccl-tests 在 {size_bytes:bytes} 时测得 {busbw_gbps} GB/s",
    "event.BarrierMissing": "monitored barrier 空等 {missing:ranks}",
    "event.ClosingSignal": "启动器用信号 {signal} 结束进程 {pid}",
    "event.CollectiveTimeout": (
        "某个 rank 在 {op:ops}（序号 {seq}）中等待 {elapsed_ms:ms}后放弃（上限 {timeout_ms:ms}）"
    ),
    "event.CommunicatorStage": "NCCL 正在建立或结束通信器：{stage}，{size} 个 rank",
    "event.DesyncReported": "desync 报告：{absent:ranks} 没有加入，{joined:ranks} 加入而未完成",
    "event.DeviceFault": "CUDA 报错：{problem}",
    "event.DeviceGuessed": "torch 猜测本 rank 使用 GPU {device}",
    "event.DumpSignal": "某个 rank 写出它的 Flight Recorder（{reason}）",
    "event.FingerprintMismatch": (
        "rank {rank} 与 {other_rank} 执行了不同的集合通信：{runs} 与 {other_runs}"
    ),
    "event.Finished": "程序表示已正常结束",
    "event.FrameworkSeen": "{name} 的特征",
    "event.GlooFault": "Gloo 报告：{problem}",
    "event.GroupStatus": (
        "某个 rank 的计数器：最后发起 {enqueued}，最后完成 {completed}，失败于 {failed}"
    ),
    "event.InterfaceUsed": "{library} 使用网卡 {interface}",
    "event.KernelEvent": "内核日志报告：{problem}",
    "event.LinesDropped": "启动器略去了其他 rank 的 {count} 行",
    "event.ModelMismatch": "各 rank 的模型不同：{difference}",
    "event.NcclFailure": "NCCL 报告：{reason}",
    "event.PhaseMark": "阶段 {phase} 的标志（{edge}）",
    "event.ProcessEnded": "{reporter} 报告某个进程结束：退出码 {exit_code}，信号 {signal}",
    "event.Progress": "进度条位于 {done} / {total}",
    "event.PythonException": "Python 抛出 {exception}：{message}",
    "event.Restarted": "作业再次启动",
    "event.SettingSeen": "一项设置：{name}={value}",
    "event.StackSeen": "运行中的调用栈位于 {frame}",
    "event.StopSeen": "作业被外部终止：{kind}",
    "event.StoreFault": "store 或 rendezvous 报告：{problem}",
    "event.TransportUsed": "NCCL 通过 {transport} 传输数据",
    "event.VersionSeen": "{component} 的版本是 {version}",
    "event.WatchdogAborted": "看门狗结束了自己的进程（{reason}）",
    "event.WatchdogStuck": "心跳监视线程结束了看门狗停住的进程",
    "event.WorldSeen": "身份：{world_size} 个 rank 中的 rank {rank}",
    "means.BandwidthMeasured": "与链路能力比较；数值低会使集合通信变慢，而不是卡住。",
    "means.BarrierMissing": "它点名的 rank 没有到达。请看它们自己的日志，是什么耽搁了它们。",
    "means.ClosingSignal": "该进程是受害者：第一个失败之后，启动器会结束其余进程。",
    "means.CollectiveTimeout": (
        "该 rank 是受害者：它在等一个没有加入的 rank，或不动的传输。"
        "请找没有打印这种行的 rank，看它最后做了什么。"
    ),
    "means.CommunicatorStage": "所有 rank 都开始、只有部分完成的初始化，说明问题在传输。",
    "means.DesyncReported": "它点名了谁缺席。这只对上报了状态的 rank 成立。",
    "means.DeviceFault": "该进程的内核或其 GPU 失败。其他 rank 随后空等它。",
    "means.DeviceGuessed": "barrier 先于 `set_device`；猜错时两个 rank 会共用一块 GPU。",
    "means.DumpSignal": "该 rank 被告知或看到了失败；这不表示它是肇因。",
    "means.FingerprintMismatch": "各 rank 走了不同的代码路径。它只比较两个 rank，任一方都可能有错。",
    "means.Finished": "此前打印的内容并没有使作业停止。",
    "means.FrameworkSeen": "它告诉我们用哪个框架的语法来写修复办法。",
    "means.GlooFault": "超时或连接关闭点名的是环上的邻居，而不是肇因。",
    "means.GroupStatus": "在 rank 之间比较：最后发起编号较小的 rank 落后。",
    "means.InterfaceUsed": "确认它能到达其他主机：lo 和 docker0 不能。",
    "means.KernelEvent": "内核说的是主机本身；它的时间说明先后。",
    "means.LinesDropped": "没有信息的 rank 也可能打印过：缺失不能证明任何事。",
    "means.ModelMismatch": "计算图取决于 rank 或其数据。",
    "means.NcclFailure": (
        "传输错误常常只是回声：最先退出的 rank 会断开其他 rank 的连接。请找最早的失败。"
    ),
    "means.PhaseMark": "只有开始没有结束的阶段，说明迟到的 rank 当时在做什么。",
    "means.ProcessEnded": (
        "信号 15，以及超时之后的信号 6 是后果；信号 9、11、7 和普通退出码可能是原因。"
    ),
    "means.Progress": "没有走完的进度条说明当时在进行什么。",
    "means.PythonException": (
        "如果它是最早的失败，且不是关于别的 rank，那么很可能就是原因：其他 rank 在等这一个。"
    ),
    "means.Restarted": "日志包含多次启动；每次单独判断。",
    "means.SettingSeen": "`unhang explain NAME` 说明该设置是否起作用。",
    "means.StackSeen": "它显示其他 rank 等待时本 rank 在做什么。",
    "means.StopSeen": "之后打印的内容是终止的余波。",
    "means.StoreFault": (
        "打印它的 rank 在等待。store 在 rank 0 上，所以可能是 rank 0 迟到、退出或无法到达。"
    ),
    "means.TransportUsed": "比预期慢的传输会使集合通信变慢。",
    "means.VersionSeen": "格式、默认值和已知缺陷都取决于版本。",
    "means.WatchdogAborted": "这是后果：之前的超时或错误才是关键。",
    "means.WatchdogStuck": "进程卡在 Python 之下，或拿不到解释器锁。",
    "means.WorldSeen": "它说明应有多少个 rank。",
}
