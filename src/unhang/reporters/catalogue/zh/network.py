"""Sentences of the rules on networks and transports, and of what else may explain an error."""

SENTENCES: dict[str, str] = {
    "rival.stopped": "此前作业已被外部终止：这可能只是余波。",
    "rival.lost_rank": "另一个进程已自行失败（{ranks:ranks}）；连接中断由此而来。",
    "rival.after_timeout": "它是在集合通信超时、rank 被结束之后才打印的。",
    "NET001.claim": "没有可用的网卡：{text}",
    "NET001.why": "NCCL 和 Gloo 需要一块网卡；所指定的网卡在本主机或其容器里不存在。",
    "NET002.claim": "无法连接 {peer}：{text}",
    "NET002.claim_private": "各 rank 在 {address} 会合，而其他主机无法到达这个地址",
    "NET002.why": (
        "rank 之间用系统随机选择的端口互连；即使 store 正常，防火墙或选错网卡也会丢弃这些连接。"
    ),
    "NET002.why_private": "回环、容器网桥、隧道和链路本地地址从别的主机都到不了。",
    "NET002.against_refused": "连接被拒也可能说明对端进程已经退出。",
    "NET003.claim": "Gloo 的各 rank 无法互连",
    "NET003.claim_loopback": "Gloo 的各 rank 在 {remote} 会合：主机名解析成了回环地址",
    "NET003.why": "Gloo 公布主机名解析得到的地址；其他每个 rank 都必须能到达它。",
    "NET003.against_connected_before": "上一次启动经由同样的地址已经连通",
    "NET003.against_one_host": "所见内容都在同一台主机上，回环本来就对：可能是对端已退出。",
    "NET004.claim": "网络插件失败：{text}",
    "NET004.claim_address": "网络插件无法到达对端地址：{text}",
    "NET004.why": ("安全组必须允许 EFA 流量进出自身（双向）；ping 和普通 socket 看不出这个问题。"),
    "NET005.claim": "{hosts} 收到来自 {peer} 的 RDMA 完成错误：状态 {status}，厂商错误 {vendor}",
    "NET005.claim_text": "{hosts} 发生 RDMA 错误：{text}",
    "NET005.why": "重试次数用尽：这两块网卡之间的数据包或其确认丢失。",
    "NET005.why_memory": "网卡无法访问内存：PCIe 访问控制（ACS）阻断了 GPUDirect。",
    "NET005.against_size": "两端对消息大小看法不一致时也会出现这个状态。",
    "NET006.claim": "{hosts} 的网络端口断开（{device}）",
    "NET006.why": "报告自己端口断开的主机才是故障方；它的对端只是超时。",
    "NET007.claim": "{hosts} 无法建立 RDMA：{text}",
    "NET007.why": (
        "队列对或设备被拒绝：GID 序号或分区不对、两个子网之间没有路由，或 RDMA 驱动缺少该功能。"
    ),
    "NET007.why_lock": (
        "RDMA 需要锁定内存，而该进程的锁定内存上限（`ulimit -l`）太低。主机内存和显存都没有耗尽。"
    ),
    "NET008.claim": "{hosts} 之间的数据走 TCP socket，而 {op} 没有完成",
    "NET008.why": "NCCL 没有找到 RDMA 设备，改用 socket，慢十到一百倍。",
    "NET008.against_small": "该集合通信足够小，TCP 也能承受：仅凭 socket 解释不了超时。",
    "NET009.claim": "大消息只达到 {measured:.1f} GB/s，而链路能提供 {link:.0f} GB/s",
    "NET009.claim_setting": (
        "大消息只达到 {measured:.1f} GB/s，而链路能提供 {link:.0f} GB/s；设置了 {settings}"
    ),
    "NET009.why": "数据走了比拓扑所能提供的更慢的路。",
    "NET009.why_channels": "数据走了比拓扑所能提供的更慢的路；NCCL 使用 {channels} 个通道。",
    "NET010.claim": "{hosts} 上 GPU 之间的直接访问被拒绝：{text}",
    "NET010.claim_iommu": "作业卡住时 {hosts} 的 IOMMU 报错：{text}",
    "NET010.why": "NCCL 在主机内的 GPU 之间直接搬运数据，但没有得到允许。",
    "NET010.why_iommu": "被 IOMMU 拒绝的 GPU 间传输永远不会到达，程序也收不到错误。",
    "NET011.claim": "{hosts} 的共享内存已满：{text}",
    "NET011.claim_segment": "{hosts} 无法创建共享内存段：{text}",
    "NET011.why": "同一主机的 rank 通过 /dev/shm 交换数据；容器默认只有 64 MB。",
    "NET012.claim": "通信器的成员对不上：{text}",
    "NET012.why": "有第二个同号 rank、不同的 world size，或上次启动遗留的进程参加了进来。",
    "NET013.claim": "{absent:ranks} 从未开始建立 {started:ranks} 正在等待的通信器",
    "NET013.why": "通信器要由全部 rank 一起建立；其他 rank 在 NCCL 里等待。",
    "NET013.against_silent": "其他缺席的 rank 没有任何记录。",
    "NET014.claim": "{hosts} 通过 {interface} 引导 NCCL，而其他主机无法到达它",
    "NET014.why": "没有任何集合通信完成过：主机之间的连接从未成功。",
}
