"""Sentences of `unhang fix`: what was written, what was not, and what to look at next."""

SENTENCES: dict[str, str] = {
    "fix.verbatim": "{text}",
    "fixing.passed": "办法 {number} 不适用于此文件：{reason}（{title}）",
    "fixing.written": "办法 {number}：{title}（作用于 {reaches}）",
    "fixing.risk": "风险：{risk}",
    "fixing.verify": "验证：{verify}",
    "fixing.nothing": "{path} 已经含有这些设置",
    "fixing.dry": "{path} 未改动；--apply 会写入并保留副本",
    "fixing.applied": "{path} 已写入；原文件保存在：{backup}",
}
