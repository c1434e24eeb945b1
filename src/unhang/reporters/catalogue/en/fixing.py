"""Sentences of `unhang fix`: what was written, what was not, and what to look at next."""

SENTENCES: dict[str, str] = {
    "fix.verbatim": "{text}",
    "fixing.passed": "fix {number} is not for this file: {reason} ({title})",
    "fixing.written": "fix {number}: {title} (reaches {reaches})",
    "fixing.risk": "risk: {risk}",
    "fixing.verify": "check: {verify}",
    "fixing.nothing": "{path} holds these settings already",
    "fixing.dry": "{path} is as it was; --apply writes it and keeps a copy",
    "fixing.applied": "{path} is written; as it was before: {backup}",
}
