"""Sentences of the slow rules."""

SENTENCES: dict[str, str] = {
    "SLO001.claim": "其他 rank 放弃等待时，检查点仍在保存或加载（`{detail}`）",
    "SLO001.claim_ranks": "{ranks:ranks}：其他 rank 放弃等待时，检查点仍在保存或加载（`{detail}`）",
    "SLO002.claim": "其他 rank 放弃等待时，数据仍在准备（`{detail}`）",
    "SLO002.claim_ranks": "{ranks:ranks}：其他 rank 放弃等待时，数据仍在准备（`{detail}`）",
    "SLO003.claim": "其他 rank 放弃等待时，评估仍在进行（`{detail}`）",
    "SLO003.claim_ranks": "{ranks:ranks}：其他 rank 放弃等待时，评估仍在进行（`{detail}`）",
    "SLO004.claim": "其他 rank 等待时，代码仍在编译或预热（`{detail}`）",
    "SLO004.claim_ranks": "{ranks:ranks}：其他 rank 等待时，代码仍在编译或预热（`{detail}`）",
    "SLO005.claim_work": "工作只需再有 {seconds:s}，却被 {limit_s:s}的超时结束",
    "SLO005.claim_step": "一个训练步需要 {seconds:s}，与 {limit_s:s}的超时一样长",
    "SLO005.why": "工作在推进，而且是有限的；看门狗量的是时间，不是进度。",
    "SLO.why_bar": "该工作已持续 {lasted_s:s}而未完成；其他 rank 在 {limit_s:s}后放弃。",
    "SLO.why_default": "该工作已持续 {lasted_s:s}而未完成：与默认超时一样长，或更长。",
    "SLO.why_mark": (
        "该工作在第一次超时之前 {lasted_s:s}开始，没有任何一行说它已结束；超时上限为 {limit_s:s}。"
    ),
    "SLO.why_named": "等待的 rank 点名 {ranks:ranks} 就是它们在等的。",
    "SLO.why_missing": (
        "这是已知 {ranks:ranks} 最后开始的工作，没有任何一行说它已结束，而其他 rank 全都放弃了等待。"
    ),
    "SLO.why_last": (
        "这是第一次超时之前最后打印的内容，没有任何一行说它已结束，而其他 rank 等待之处没有人在工作。"
    ),
    "SLO.why_stack": "运行中的调用栈显示该进程位于 `{frame}`。",
    "SLO.against_stale": "该工作远早于等待就已开始：可能只是结束没有写进日志。",
    "SLO.against_short": (
        "该工作只持续了 {lasted_s:s}，短于 {limit_s:s}的超时：它自己也可能卡住了。"
    ),
    "SLO.against_cut": "traceback 的最后一行缺失。",
    "SLO.against_tensor": "其他 rank 在模型的集合通信中等待，且没有时间信息说明该工作持续了多久。",
    "SLO.against_late": "已经过了 {seq} 个集合通信：这一行可能属于作业的开头。",
    "SLO.against_vague": "最初的集合通信也可能因网络或设备选择而失败。",
    "SLO.against_stopped": "此前作业已被外部终止。",
    "SLO.against_failure": "另有别的失败，且未必更晚。",
    "SLO.against_desync": "各 rank 发起了不同的调用，或运行了不同的模型。",
    "SLO.against_survived": "超时之后训练仍在继续。",
    "SLO.against_joined": "{ranks:ranks} 也在集合通信中等待，所以并不在工作。",
    "SLO.against_awaited": "其他 rank 等的是 {ranks:ranks}，而在工作的不是它。",
    "SLO.against_unseen": "没有看到该工作的开始：它可能已经结束。",
    "SLO.against_done": "它的进度条已到 100 %：工作本身已完成。",
    "SLO.against_lines": "它与超时之间隔着 {lines} 行：可能只是没有识别出它的结束。",
    "SLO.against_device": "在为每个 rank 选定 GPU 之前执行了 barrier，这也会同样卡住。",
}
