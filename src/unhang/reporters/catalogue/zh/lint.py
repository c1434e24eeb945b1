"""Sentences of `unhang lint`: what each class of finding means."""

SENTENCES: dict[str, str] = {
    "lint.error": "错误",
    "lint.warning": "警告",
    "lint.info": "提示",
    "lint.use": "请用：{replacement}",
    "lint.clean": "没有问题（{settings} 项设置，{files} 个文件或进程）",
    "lint.count": "{count} 处问题（{settings} 项设置，{files} 个文件或进程）",
    "lint.CFG101.why": "没有任何程序读取它：等它生效只会浪费时间",
    "lint.CFG102.why": "拼错的名字会被悄悄忽略",
    "lint.CFG103.why": "旧脚本里的设置，读取它的代码早已不在",
    "lint.CFG104.why": "旧名字迟早会被去掉；两个都设置时新名字生效",
    "lint.CFG105.why": "该名字仍有声明，所以没有工具报错，但它什么也不做",
    "lint.CFG106.why": "旧版本会悄悄忽略较新的设置",
    "lint.CFG107.why": "该设置属于某个插件，而插件可能不存在",
    "lint.CFG108.why": "库不认识的取值会被拒绝，或使其静默失效",
    "lint.CFG109.why": "库不作比较的取值会被悄悄忽略",
    "lint.CFG110.why": "该取值就是默认情况，什么也不会改变",
    "lint.CFG111.why": "这样一来卡住永远不会被发现，或不会被结束",
    "lint.CFG112.why": "没有记录器，卡住之后就没有证据",
    "lint.CFG113.why": "遗留的测试设置使作业一直走慢路",
    "lint.CFG114.why": "这样一来丢包永远不会变成错误",
    "lint.CFG115.why": "AllReduce 以外的集合通信没有 tree 算法",
    "lint.CFG116.why": "该设置管的不是集合通信的超时",
    "lint.CFG117.why": "其他主机无法到达该地址",
    "lint.CFG118.why": "选择不同的 rank 会永远相互等待",
    "lint.CFG119.why": "两个取值中后一个生效，不管本意是哪个",
    "lint.CFG120.why": "在读取它之前，进程组已由别处创建；或者没有程序读取它",
    "lint.CFG121.why": "单位与该数字所暗示的不同",
    "lint.CFG122.why": "默认值更好，或更安全",
    "lint.CFG123.why": "数据可能损坏而不报错",
    "lint.CFG124.why": "库中不存在的名字会被悄悄忽略",
    "lint.CFG125.why": "重启后各 rank 在建立连接时会失败或卡住",
    "advice.not_in_binary": "已安装的 NCCL {version} 不读取 {name}",
    "advice.unknown_near": "已知的任何 NCCL 版本都没有 {name}；有的是 {near}",
    "advice.set_twice": "{name} 在第 {line} 行是 {before}，这里是 {value}：以这里为准",
    "advice.recorder_off": (
        "PyTorch {version} 默认不记录集合通信：卡住之后没有 Flight Recorder 转储可看"
    ),
    "advice.differs": (
        "{name} 在 rank {first} 上是 {one}，在 rank {second} 上是 {other}：所有 rank 必须一致"
    ),
}
