"""Sentences of the rules that read Flight Recorder dumps."""

SENTENCES: dict[str, str] = {
    "recorder.against_log": "按日志，{ranks:ranks} 是自行失败的。",
    "LOC101.claim": (
        "{ranks:ranks} 没有发起组 {group} 的 {op:ops} 第 {seq} 号，而 {waiters:ranks} 正在其中等待。"
    ),
    "LOC101.claim_pair": (
        "{ranks:ranks} 没有发起 {waiters:ranks} 正在等待的 send 或 recv 的另一端。"
    ),
    "LOC101.why": "在转储中，{waiting:ranks} 有指向那里的未完成调用；而 {ranks:ranks} 没有。",
    "LOC101.why_last": (
        "{rank:ranks} 最后的调用是组 {last_group} 的 {last_op:ops} 第 {last_seq} 号，"
        "比所有 rank 的最后一次调用早 {idle:s}；{waiting:ranks} 在等待。"
    ),
    "LOC101.why_last_live": (
        "{rank:ranks} 最后的调用是组 {last_group} 的 {last_op:ops} 第 {last_seq} 号，"
        "在其转储之前 {rested:s}；{waiting:ranks} 在等待。"
    ),
    "LOC101.why_place": (
        "{rank:ranks} 最后的调用是 {last_op:ops} 第 {last_seq} 号，发自 {here}，"
        "比所有 rank 的最后一次调用早 {idle:s}；等待的 rank 停在 {there}。"
    ),
    "LOC101.why_place_live": (
        "{rank:ranks} 最后的调用是 {last_op:ops} 第 {last_seq} 号，发自 {here}，"
        "在其转储之前 {rested:s}；等待的 rank 停在 {there}。"
    ),
    "recorder.unrecorded": (
        "这些 rank 之间还有 send 和 recv，而这个后端不记录它们：其中一个可能只是在等另一个。"
    ),
    "LOC102.claim": "{ranks:ranks} 没有留下可用的转储，而其他所有 rank 都在等它。",
    "LOC102.why": (
        "每个有转储的 rank 都已发起大家正在等的操作。没有转储的进程可能已经死亡，"
        "或卡在 `destroy_process_group`。"
    ),
    "LOC103.claim": "其他成员已完成的调用，{ranks:ranks} 没有完成。",
    "LOC103.why": "对端都已交出数据，所以是这些 rank 的 GPU 没有推进；{waiting:ranks} 在等它们。",
    "LOC104.claim": "{ranks:ranks} 都已发起 {op:ops} 第 {seq} 号，且在所有 rank 上都未完成。",
    "LOC104.why": "没有谁缺席：如果作业卡住，就是卡在这个调用内部。",
    "DSY101.claim_operation": (
        "在组 {group} 的第 {seq} 号下，{other:ranks} 发起 {other_op}，{most:ranks} 发起 {op}。"
    ),
    "DSY101.claim_size": (
        "在组 {group} 的第 {seq} 号下，{other:ranks} 发起的 {op} 有 {other_size} 个元素，"
        "{most:ranks} 的有 {size} 个。"
    ),
    "DSY101.claim_type": (
        "在组 {group} 的第 {seq} 号下，{other:ranks} 发起的 {op} 类型为 {other_type:ops}，"
        "{most:ranks} 的为 {type:ops}。"
    ),
    "DSY101.claim_size_pair": (
        "{most:ranks} 在组 {group} 中向 {other:ranks} 发送 {size} 个元素，"
        "而后者要接收 {other_size} 个。"
    ),
    "DSY101.claim_type_pair": (
        "{most:ranks} 在组 {group} 中向 {other:ranks} 发送 {type:ops}，"
        "而后者要接收 {other_type:ops}。"
    ),
    "DSY101.why_pair": (
        "send 总是与对端的下一个 recv 配对，不管大小；{ranks:ranks} 发起的与这个组平时传递的不同。"
    ),
    "DSY101.why": "集合通信只按编号配对；多数 rank 一致，{ranks:ranks} 走了另一条路。",
    "DSY101.why_tied": "集合通信只按编号配对；两种操作的 rank 一样多。",
    "DSY101.why_left_out": (
        "{ranks:ranks} 之后的调用与其他 rank 再往后 {count} 个的调用相同：漏掉了 {count} 个调用。"
    ),
    "DSY101.why_too_many": (
        "{ranks:ranks} 之后的调用与其他 rank 再往前 {count} 个的调用相同：多出了 {count} 个调用。"
    ),
    "DSY102.claim": "{ranks:ranks} 在组 {groups:ops} 中相互等待，形成环路。",
    "DSY102.why": (
        "每个 rank 都在自己第一个未完成的调用里等一个被困在另一调用中的 rank；环路之外没有谁缺席。"
    ),
    "DSY102.why_odd": (
        "每个 rank 都在自己第一个未完成的调用里等一个被困在另一调用中的 rank。"
        "在此之前不久，{odd:ranks} 发起调用的顺序与它自己和其他 rank 平时的不同。"
    ),
    "DSY103.claim_shorter": "{ranks:ranks} 比其他 rank 更早离开循环。",
    "DSY103.why_shorter": (
        "它停在循环之后的 barrier，而 {others:ranks} 发起了每步开头都有的 {op}。"
    ),
    "DSY103.claim_longer": "{ranks:ranks} 在第 {seq} 号中等待，其他 rank 都没有发起它。",
    "DSY103.claim_longer_pair": (
        "{ranks:ranks} 在多出的一步的 send 或 recv 中等待，其他 rank 都没有开始这一步。"
    ),
    "DSY103.why_longer": "{others:ranks} 都停在前一个调用之后，没有未完成的调用。",
    "event.DumpRead": "一份含 {entries} 个调用的 Flight Recorder 转储（{back_end}，格式 {version}）",
    "means.DumpRead": "把所有 rank 的转储放在一起，就能看出谁没有发起其他 rank 正在等的调用。",
}
