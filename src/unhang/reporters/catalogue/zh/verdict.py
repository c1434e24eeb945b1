"""Sentences of the verdict itself."""

SENTENCES: dict[str, str] = {
    "summary.undetermined": "现有证据不足以判定根因。",
    "summary.undetermined_call": "{ranks:ranks} 在 {op} 中一直等到超时；在等什么，证据没有显示",
    "summary.no_failure": "所给内容中没有打印任何失败，也没有成功结束的标志。",
    "summary.healthy": "未发现故障：作业自己表示已正常结束。",
}
