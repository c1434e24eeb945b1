"""Sentences of `unhang explain` and `unhang rules`."""

SENTENCES: dict[str, str] = {
    "manual.text": "{text}",
    "manual.row": "{code}  {summary}",
    "manual.about": "About this rule",
    "manual.rule": (
        "It says who and where, not why. It needs one of: {facts}. {status}, since {since}."
    ),
    "manual.rule_with_cause": (
        "It claims the cause `{cause}`. It needs one of: {facts}. {status}, since {since}."
    ),
    "manual.claimed_by": "Rules that claim it",
    "manual.line": (
        "A text that unhang knows. On its own it decides little: give the whole log to"
        " `unhang diagnose`."
    ),
    "manual.says": "What it says",
    "manual.means": "What that means",
    "manual.more": "`unhang explain CODE` shows the manual page of a rule.",
    "manual.speaking": "Rules that would speak of it",
}
