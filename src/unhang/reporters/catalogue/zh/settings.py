"""Sentences on settings: what each does, and what it does not do."""

SENTENCES: dict[str, str] = {
    # 名字
    "advice.timeout_env": (
        "任何版本、任何单位下，NCCL 和 PyTorch 都不读取 {name}：它不改变任何超时"
        "（除非你自己的脚本读取并转交）；请用 {use}"
    ),
    "advice.unread": "任何版本都没有程序读取 {name}；请用 {use}",
    "advice.max_rings": "NCCL 从来没有 {name}：请用 {use}；它设置通道数，与超时无关",
    "advice.ib_mtu": "NCCL 从来没有 {name}：它取两端端口中较小的 active MTU；请设置 {use}",
    "advice.misspelt": "NCCL 不认识 {name}；正确的名字是 {use}",
    "advice.obsolete": "{library} 在 {last} 之后的版本已忽略 {name}；请删除",
    "advice.obsolete_use": "{library} 在 {last} 之后的版本已忽略 {name}；请用 {use}",
    "advice.obsolete_always": "自 NCCL 2.3 起没有任何版本读取 {name}；请删除",
    "advice.declared_only": "NCCL 仍声明 {name}，但自 {since} 起不再查看它；请删除",
    "advice.too_new": "{name} 随 {library} {since} 引入；{version} 不认识它",
    "advice.renamed": "{name} 是 {use} 的旧名；目前仍有效",
    "advice.overridden_by_torchrun": (
        "torchrun（2.2 及以后）设置 {use}=1，优先于 {name}：请直接设置 {use}"
    ),
    "advice.plugin_only": "只有 {reader} 读取 {name}（{about}）；没有该插件时它什么也不做",
    # 关于框架的建议
    "advice.verl_backend": (
        "verl 从来没有 {name}：Hydra 接受 + 之后任何自造的键，而没有程序读取它；后端写死在源码里"
    ),
    "advice.verl_check_nccl": (
        "verl 的 scripts/diagnose.py 从来没有 --check-nccl：它以用法错误退出，也不测试任何 GPU"
        " 链路；请用 {use}"
    ),
    "advice.verl_timeline": (
        "verl 的 scripts/rollout_viewer.py 从来没有 --timeline；Ray 自己的时间线是 {use}"
    ),
    "advice.verl_dead": "verl {version} 不读取 {name}：无论该键写什么，全局组都是 30 分钟",
    "advice.verl_plus": (
        "该键在 verl 0.6 和 0.7 中已存在，所以 Hydra 拒绝 +{name}（Could not append）；请去掉 +"
    ),
    "advice.driver_floor": (
        "没有任何 NCCL 版本要求驱动 {name}：它只要求驱动的 CUDA 级别；"
        "如今 PyTorch 自带的 NCCL 都比 2.18.3 新"
    ),
    "advice.gloo_backend": (
        "Gloo 让 GPU 张量经过主机内存：适合跑一次小任务看问题是否在 NCCL，用于训练则太慢"
    ),
    # NCCL 的取值
    "advice.debug_word": "NCCL 不认识级别 {value}：这样连错误都不打印；请用 WARN 或 INFO",
    "advice.algo_tree": (
        "只用 Tree 会使 AllGather、ReduceScatter 和 Broadcast 没有算法可用：FSDP 和 ZeRO 会失败"
        "（NCCL 2.5、2.6、2.17、2.18、2.24 及以后）"
    ),
    "advice.proto_ll128": "在不支持的硬件上强制 LL128 会损坏数据；NCCL 会在安全之处自动选用它",
    "advice.ib_timeout_forever": (
        "NCCL_IB_TIMEOUT={value} 会对丢失的数据包无限等待（1 到 31 才是有限的）"
    ),
    "advice.ib_timeout_long": (
        "NCCL_IB_TIMEOUT={value} 使一个丢包在七次重试下耗费 {seconds:s}；它不是集合通信的超时"
    ),
    "advice.slow_path": (
        "{name}={value} 使 NCCL 离开快速路径：作为测试没有问题，但若遗留下来，慢本身就可能导致超时"
    ),
    "advice.slow_paths": (
        "{name}={value} 与 {also} 同用，NCCL 就只剩最慢的路径；慢本身就可能导致超时"
    ),
    "advice.only_one_counts": "只有 {name}=1 有效；{value} 什么也不做",
    "advice.lower_case": "NCCL 按大写比较 {name}：{value} 会被悄悄忽略",
    "advice.nvls_on": (
        "{name} 的默认值是 2，驱动支持时就使用 NVLS：设为 1 没有收益；NVLS 出错时用 0 绕开"
    ),
    "advice.buffsize_small": ("{name}={value} 低于默认的 4194304：它减少内存和带宽，与超时无关"),
    "advice.same_as_default": "{name}={value} 就是默认值；请删除",
    "advice.interface_local": "{name}={value} 只是单台主机内的网卡，而作业跨 {nodes} 台主机",
    "advice.hca_all": "{name}={value} 是匹配所有端口的前缀：与不设置几乎一样",
    "advice.hca_prefix": (
        "{name} 按前缀匹配：{value} 也会选中同名的 10 到 19 号设备；以 = 开头则精确匹配"
    ),
    "advice.gid_index": (
        "NCCL 2.21 及以后会自行寻找 GID 序号；固定的序号在主机间不同或重启之后会失效"
    ),
    "advice.traffic_class": (
        "只有当交换机把该流量类别映射到无损队列时 {name} 才有用；否则无效甚至有害"
    ),
    # PyTorch 的取值
    "advice.boolean_word": "PyTorch 会在启动时抛出异常：{name} 只接受 0 或 1，而不是 {value}",
    "advice.blocking_wait": (
        "{name}=1 会去掉看门狗线程：超时后没有 Flight Recorder 转储，重叠也减少；它不延长任何超时"
    ),
    "advice.async_handling_0": "{name}=0 会隐藏所有超时：作业会无声无息地永远卡住",
    "advice.async_handling_2": (
        "{name}=2 会中止通信器却让进程继续：超时之后作业卡住，或在错误的数据上继续"
    ),
    "advice.monitoring_off": (
        "{name}=0 去掉最后一道防线：看门狗一旦停住就永远卡住；若监视线程过早动作，请延长它的心跳"
    ),
    "advice.heartbeat": "{name} 限制的是看门狗线程的沉默时间，不是集合通信：它不延长超时",
    "advice.recorder_both": (
        "PyTorch 2.8 到 2.10 在两处用两个名字读取记录器大小：只有 {name} 时不会写出转储；"
        "请同时设置 {other}"
    ),
    "advice.gloo_exact": (
        "GLOO_SOCKET_IFNAME 只接受精确的名字：前缀 = 和 ^ 是 NCCL 的写法，Gloo 找不到网卡 {value}"
    ),
    "advice.address_local": ("MASTER_ADDR={value} 在每台主机上都指它自己，而作业跨 {nodes} 台主机"),
    # 超时
    "advice.timeout_expired": (
        "{name}={value} 即 {seconds:s}，正是刚刚用尽的超时：设置它什么也不会改变"
    ),
    "advice.ddp_timeout_default": ("{name}={value} 就是默认值（30 分钟）：设置它什么也不会改变"),
    "advice.timeout_endless": (
        "{name}={value} 即 {seconds:s}：真正卡住时永远不会被发现；对任何保存，几分钟到几小时都足够"
    ),
    "advice.axolotl_first": (
        "Axolotl 0.19 之前配合 DeepSpeed 时，先创建进程组后读取 {name}：起作用的是"
        " AXOLOTL_NCCL_TIMEOUT"
    ),
    "advice.ray_first": (
        "Ray Train 在读取 {name} 之前就创建进程组：起作用的是 TorchConfig(timeout_s=...)"
    ),
    "advice.deepspeed_integer": "DEEPSPEED_TIMEOUT 是整数分钟；{value} 会在导入时抛出异常",
    "advice.deepspeed_minutes": (
        "DEEPSPEED_TIMEOUT 以分钟计：{value} 即 {seconds:s}，其间任何卡住都不会被发现"
    ),
    "advice.deepspeed_not_first": (
        "Trainer 在 DeepSpeed 查看 {name} 之前，就用自己的 ddp_timeout 创建了全局组"
    ),
    "advice.deepspeed_clone": (
        "{name} 只管全局组：ZeRO 使用的是它的一个副本，保持 PyTorch 的 10 分钟，用尽的正是这个"
    ),
    "advice.minutes_not_seconds": "{name} 以分钟计：{value} 即 {seconds:s}",
    "advice.seconds_not_minutes": "{name} 以秒计：任何让某个 rank 停留 {seconds:s} 的保存、评估或加载都会结束作业",
    # 手册页
    "advice.page_algo": (
        "NCCL 2.5 起真实存在，但治不了超时；只用 Tree 会使 FSDP 和 ZeRO 在许多版本中失败，"
        "只用 Ring 安全但较慢；所有 rank 必须一致"
    ),
    "advice.page_buffsize": ("真实存在；默认值是 4194304，所以流传的 2097152 反而减半；与超时无关"),
    "advice.page_hca": (
        "真实存在；默认按前缀匹配（mlx5 选中所有端口，mlx5_1 也选中 mlx5_10），以 = 开头则精确匹配"
    ),
    "advice.page_debug": (
        "真实而正确：平时用 WARN，需要时用 INFO 运行一次；WARNING、ERROR、DEBUG 和 1"
        " 都不被认识，连错误也会被静默；对单纯的卡住，WARN 什么也不显示"
    ),
    "advice.page_nrings": (
        "是 NCCL_MIN_CTAS 和 NCCL_MAX_CTAS 的别名，目前仍有效；只影响性能，与超时无关"
    ),
    "advice.page_ib_timeout": (
        "真实存在；NCCL 2.23 起默认 20（之前 18）：单个数据包等待确认的时间，不是集合通信的超时"
    ),
    "advice.page_slow_path": (
        "真实存在；作为测试是对的（故障是否消失？），遗留下来就错了：慢路径本身就可能导致超时"
    ),
    "advice.page_async": (
        "看门狗在超时之后做什么；torchrun 把它设为 1；0 和 2 会让卡住的作业继续占着资源"
    ),
    "advice.page_recorder": (
        "Flight Recorder，卡住时最好的证据：PyTorch 2.11 起默认 2000，之前默认 0；"
        "2.8 到 2.10 请同时设置 TORCH_FR_BUFFER_SIZE 和 TORCH_NCCL_TRACE_BUFFER_SIZE"
    ),
    "advice.page_ddp_timeout": (
        "真实存在，以秒计，默认 1800：设为 1800 什么也不改变；它管全局组，不管 DeepSpeed 的副本"
        "和其他任何组；若 Accelerator 或 Ray 先创建了组，则完全不起作用"
    ),
    "advice.page_deepspeed": (
        "真实存在，以分钟计；只在 DeepSpeed 自己创建全局组时管该组，"
        "不管 ZeRO 使用的副本，在 Trainer 下也不起作用"
    ),
    "advice.page_verl": (
        "在 verl 0.4.1 到 0.7 中真实存在（FSDP worker 从 0.6 起），0.6 起不带 +；"
        "0.8.0 起没有程序读取它；它从不作用于子组"
    ),
    "advice.no_number": "{name} 应为整数：NCCL 对 {value} 发出警告并采用默认值",
    "advice.subsystem_word": "{name} 不认识 {words}：这些内容都不会打印",
    "advice.algo_by_function": ("NCCL {version} 不支持按函数指定算法（{value}）；该功能自 2.24 起"),
    "advice.algo_word": (
        "NCCL 2.24 及以后会以 invalid usage 停止：{words} 不是算法"
        "（ring、tree、collnetdirect、collnetchain、nvls、nvlstree、pat）"
    ),
    "advice.algo_unnamed": (
        "NCCL_PROTO 对所有函数设置时，NCCL 2.31 及以后可能使 {name} 没有列出的函数没有算法：请先给出默认"
    ),
    "advice.clock_number": "Lightning 的命令行不接受数字形式的 {name}：请用引号写时、分、秒",
    "advice.rendezvous_only": "{name} 的超时只管 torchrun 的启动：没有任何集合通信会因此等得更久",
    "advice.deepspeed_json_timeout": (
        "DeepSpeed 不从它的 JSON 读取超时：{name} 在那里什么也不做；"
        "有效的是 DEEPSPEED_TIMEOUT（分钟）或 init_distributed(timeout=)"
    ),
    "advice.restarts_share_store": (
        "从 torch 2.5 起，同一个 torchrun 的各次启动共用一个 store，重启后会读到上一次启动的地址"
    ),
    "advice.agent_store": (
        "torchrun 会为自己的 worker 设置 {name}；手动设置会使每个 rank 去找一个没人提供的 store"
    ),
    "advice.accelerate_yaml": (
        "accelerate launch --config_file 的文件里没有 {name}：它属于脚本，写成参数或放在脚本自己的"
        " YAML 里"
    ),
    "advice.not_passed_on": (
        "transformers {version} 接受 {name} 却不转交给任何人（不用 DeepSpeed 时）；4.31 修复了它"
    ),
    "advice.verl_by_release": (
        "{name} 只在 verl 0.6 和 0.7 中有效，且不带 +；0.8 起没有程序读取它；"
        "`--framework verl==VERSION` 会给出更多信息"
    ),
    "advice.key_gone": "{framework} 不再读取 {name}：{last} 是最后一个有它的版本",
    "advice.key_renamed": "{framework} 现在把 {name} 叫作 {use}；{last} 是最后一个有旧名的版本",
    "advice.key_new": "{framework} {version} 不认识 {name}：它随 {since} 引入",
    "advice.page_batch": (
        "更小的批次能释放显存，并缩短两个集合通信之间的计算；FSDP 和 ZeRO 汇聚的权重一样大，"
        "永远不来的 rank 仍然不来"
    ),
    "advice.page_sharded": (
        "适用于保存之前的汇聚超时：每个 rank 写自己的部分，不做汇聚；其他工具读取之前要先合并"
    ),
    "advice.webdataset": (
        "WebDataset 使读取数据更快；它不改变由谁评估：open_clip 只由 rank 0 评估，"
        "慢的评估需要更小或更少（--val-frequency）"
    ),
    "advice.swap": (
        "放在网络存储上的交换分区会使内存不足的 rank 更慢，在其他 rank 看来就像卡住；"
        "每个进程各自加载一份数据：请减少每台主机的进程数，或增加内存"
    ),
}
