"""Sentences of the desync rules."""

SENTENCES: dict[str, str] = {
    "DSY.against_stop": "此前作业已被外部终止。",
    "DSY.against_failure": "此前 {ranks:ranks} 已经失败。",
    "DSY001.claim": "{ranks:ranks} 在同一序号 {seq} 下发起了不同的操作：{ops:ops}。",
    "DSY001.why": (
        "集合通信要求组内所有 rank 发起同一个操作；这里 {most:ranks} 发起 {op:ops}，其余发起了别的。"
    ),
    "DSY002.claim": (
        "在同一个关于梯度或参数的 {op:ops} 中，{ranks:ranks} 提供的元素个数不同：{least} 与 {most}。"
    ),
    "DSY002.why": "梯度桶和参数汇聚在所有 rank 上大小相同，除非各 rank 在该步运行了模型的不同部分。",
    "DSY003.claim": "{ranks:ranks} 在同一个 {op:ops} 中提供的元素个数不同：{least} 与 {most}。",
    "DSY003.claim_apart": (
        "{ranks:ranks} 处于程序的不同位置：同一个 {op:ops} 一边有 {least} 个元素，另一边有 {most} 个。"
    ),
    "DSY003.why": "NCCL 不比较大小：期望数据比别人发送得多的 rank 会一直等到被看门狗结束。",
    "DSY004.claim_operation": "{ranks:ranks} 发起了不同的操作：{ops:ops}。",
    "DSY004.claim_shape": "{ranks:ranks} 发起 {ops:ops} 时，张量的形状、类型或设备不同。",
    "DSY004.claim_sequence": "{ranks:ranks} 以不同的序号发起了 {ops:ops}。",
    "DSY004.claim_unseen": "{ranks:ranks} 发起了 {ops:ops}，而另一个 rank 发起了别的操作。",
    "DSY004.claim_elsewhere": "{odd:ranks} 没有执行与其他 rank 的 {ops:ops} 相匹配的集合通信。",
    "DSY004.why": "DETAIL 模式在发起每个集合通信之前与另一个 rank 比较。",
    "DSY004.against_elsewhere": "空的指纹只说明该 rank 在别处：可能迟到，也可能已退出。",
    "DSY004.against_barrier": "该包装层有时会误报编号不同的 barrier。",
    "DSY005.claim": (
        "在同一个关于梯度或参数的 {op:ops} 中，{ranks:ranks} 提供的元素个数不同：{least} 与 {most}。"
    ),
    "DSY005.why": (
        "这是 DETAIL 模式比较的结果。扁平的桶和分片在所有 rank 上大小相同，"
        "除非各 rank 运行了模型的不同部分。"
    ),
    "DSY006.claim": (
        "{early:ranks} 已完成 {seq} 号之后的操作并在 {later} 中等待，而 {late:ranks} 仍在等 {seq}。"
    ),
    "DSY006.why": (
        "没有谁能与仍在等较早操作的 rank 一起完成较晚的集合通信："
        "各 rank 的同一编号指的是不同的集合通信。"
    ),
    "DSY007.claim_gloo": "某个 Gloo 对端发送的字节比本 rank 期望的多。",
    "DSY007.claim_nccl": "某个 NCCL 对端发送的字节数与本 rank 期望的不同。",
    "DSY007.why": "两个 rank 处于不同的集合通信，或同一个集合通信但大小不同。",
    "DSY007.against_settings": "各 rank 的 NCCL 设置或版本不同，也会出现同样的信息。",
    "DSY008.claim_unfinished-reduction": "在 DDP 的某一步中，有些参数没有得到梯度。",
    "DSY008.claim_marked-twice": "在 DDP 的某一步中，某个参数得到了两次梯度。",
    "DSY008.claim_parameter-count": "{all:ranks} 构建的模型参数个数不同。",
    "DSY008.claim_parameter-shape": "{ranks:ranks} 构建的模型形状与 {other:ranks} 不同。",
    "DSY008.why": "DDP 在所有 rank 上按同一顺序配对梯度；计算图不同的 rank 会打乱配对。",
    "DSY009.claim": "ZeRO-3 下模块的执行顺序在第 {step} 步改变，随后各 rank 在参数汇聚中等待。",
    "DSY009.why": "ZeRO-3 按模块执行的顺序汇聚参数；走了另一分支的 rank 汇聚的是别的参数。",
    "DSY009.against_eval": "当时正在评估、生成或保存，这会在所有 rank 上同样改变顺序。",
    "DSY010.claim": (
        "{ranks:ranks} 在组 {group} 中等待，同时 {others:ranks} 在组 {other_group} 中等待。"
    ),
    "DSY010.why": "共享 rank 的各个组必须在所有 rank 上按同一顺序发起集合通信，否则会相互等待。",
    "DSY010.against_overlap": "其中一个也可能只是另一个的后果。",
    "DSY011.claim_totals": "各 rank 的总步数不同：{least} 与 {most}。",
    "DSY011.claim_steps": "各 rank 处于不同的步：{least} 与 {most}。",
    "DSY011.why": "每一步都有需要所有 rank 参加的集合通信；步数少的 rank 会让其他 rank 空等。",
    "DSY012.claim": "工作完成之后，只有 rank 0 在 {op:ops} 中等待。",
    "DSY012.why": "gather 需要所有 rank；其他 rank 已结束并退出，只有 rank 0 发起了它。",
    "DSY013.claim": "{op:ops} 第 {seq} 号先后在 {shorter:ms}和 {longer:ms}的上限下超时。",
    "DSY013.why": "慢的工作给更多时间就能完成；这里等的是永远不会来的东西。",
    "DSY014.claim": (
        "{others:ranks} 已正常结束之后，{ranks:ranks} 在 `{function}` 中发起了集合通信。"
    ),
    "DSY014.why": (
        "集合通信需要所有 rank。只在一个 rank 上评估或保存时，不能调用被包装的模型，因为它的 forward "
        "会通信；启动器没有停止任何进程，也没有报告其他失败，所以其他 rank 已经结束。"
    ),
}
