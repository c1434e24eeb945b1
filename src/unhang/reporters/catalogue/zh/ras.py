"""Sentences about NCCL's RAS and about reports of tools on the hosts."""

SENTENCES: dict[str, str] = {
    "event.RasReport": "NCCL 的 RAS 报告：{problem}",
    "event.HostReport": "某个工具报告 {device}：{problem}（{detail}）",
    "means.RasReport": "RAS 数的是发起而不是完成，并列出少数派：看谁落后，并且问两次。",
    "means.HostReport": "这类报告没有时间：只有作业自己也提到同一设备时才算数。",
    "LOC205.claim": (
        "{ranks:ranks} 发起 {op} 到第 {done} 号，另外 {others} 个 rank 到第 {asked} 号。"
    ),
    "LOC205.claim_nobody": (
        "{count} 个 rank 发起 {op} 到第 {done} 号，另外 {others} 个 rank 到第 {asked} 号。"
    ),
    "LOC205.why": "领先的 rank 在等其他 rank 尚未发起的操作。",
    "LOC205.why_ahead": "RAS 列出领先的少数；落后的是多数，没有逐个列出。",
    "LOC206.claim": "{ranks:ranks} 不应答 NCCL 的 RAS。",
    "LOC206.claim_nobody": "{count} 个进程不应答 NCCL 的 RAS。",
    "LOC206.why": (
        "每个进程都有一个线程负责应答，与 Python 在做什么无关：不应答说明它已退出、被暂停，"
        "或其主机无法到达。"
    ),
    "DEV201.claim": "nvidia-smi 报告 GPU {device}：{detail}",
    "DEV201.why": "处于该状态的 GPU 无法完成内核，或使所有 rank 等待。",
    "DEV201.against": "该报告没有时间，作业中也没有任何内容提到这块 GPU。",
    "NET201.claim": "{device} 的端口状态不正常：{detail}",
    "NET201.why": "经过该端口的流量会中断，或比其他端口慢。",
    "NET201.against": "主机上本来就有没插线的端口；作业中没有任何内容提到它。",
}
