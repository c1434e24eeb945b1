"""Sentences on stops from outside."""

SENTENCES: dict[str, str] = {
    "CRA005.claim_interrupt": "作业被外部中断（Ctrl-C）",
    "CRA005.claim_cancelled": "作业被取消",
    "CRA005.claim_time_limit": "作业达到时间上限",
    "CRA005.claim_preempted": "作业被抢占",
    "CRA005.claim_terminated": "作业被外部终止（SIGTERM）",
    "CRA005.claim_hangup": "作业的会话被关闭（SIGHUP）",
    "CRA005.claim_evicted": "作业的 Pod 被驱逐",
    "CRA005.why": "终止之前一切正常；之后的失败只是它的余波。",
    "CRA005.why_orphans": (
        "终止信号没有送达所有进程。漏掉的进程等待其他进程直至超时：它们是遗留进程，不是原因。"
    ),
    "CRA005.against_hang": "在被人终止之前，已有 rank 在等待毫无动静的 rank",
    "CRA005.against_trouble": "在被人终止之前，作业已经失败或超时",
    "CRA005.against_stuck": "终止之前很久，各 rank 就在同一个集合通信中等待",
    "CRA005.against_no_work": "没有迹象表明终止之前作业在正常工作",
    "CRA005.against_waiting": "中断时某个 rank 正在集合通信中等待",
    "CRA005.against_blind": "没有时间信息，无法判断当时是否仍在工作",
    "CRA005.against_silence": "终止之前作业已长时间没有输出",
    "CRA005.against_cancel": "仅凭取消无法判断是否出过问题",
}
