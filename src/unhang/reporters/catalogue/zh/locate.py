"""Sentences of the locating rules."""

SENTENCES: dict[str, str] = {
    "LOC001.claim": "{ranks:ranks} 没有发起 {op:ops} 第 {seq} 号，而其他 rank 正在其中等待。",
    "LOC001.why": "集合通信要等组内每个 rank 都发起后才能完成；{waiters:ranks} 已经发起。",
    "LOC002.claim_report": "{ranks:ranks} 没有加入其他 rank 正在等待的集合通信。",
    "LOC002.claim_barrier": "{ranks:ranks} 没有到达 monitored barrier。",
    "LOC002.claim_root": "其他 rank 到达了 monitored barrier，却无法与 {ranks:ranks} 通信。",
    "LOC002.why": "PyTorch 自己比较了各 rank，并点了它们的名。",
    "LOC003.claim": ("{owner:ranks} 没有到达它的第一个集合通信；{waiters:ranks} 在等它发布的 id。"),
    "LOC003.why": (
        "store 有应答，所以不是网络问题：负责发布的 rank 迟到或已退出，谁先放弃只是偶然。"
    ),
    "LOC004.claim": "{ranks:ranks} 没有超时，而是由别的 rank 告知超时。",
    "LOC004.why": "存活却不在等待的 rank，要么没有发起该调用，要么只是旁观者。",
    "LOC005.claim": "{ranks:ranks} 的看门狗停住了。",
    "LOC005.claim_behind": (
        "{all:ranks} 的看门狗停住了，其中 {ranks:ranks} 发起的操作比其他 rank 少。"
    ),
    "LOC005.why": "某个 CUDA 调用不返回，或另一个线程占着 GIL：卡住的是本进程，而不是对端。",
    "LOC005.why_gil": "无法取得 GIL：有线程在原生代码里一直占着它。",
    "LOC006.claim": "{ranks:ranks} 的 {op:ops} 是该组的第一个集合通信，从未有任何一个完成。",
    "LOC006.why": "在第一个集合通信完成之前，谈不上谁掉队：是初始化或传输失败。",
    "LOC007.claim": "{ranks:ranks} 在最后一个完成的操作之后又发起了 {count} 个操作。",
    "LOC007.why": "Python 代码已经越过卡住的调用；调用栈显示的是别处。",
}
