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
    "manual.about_setting": "A setting of frameworks.",
    "manual.known": "What is known of it",
    "manual.knobs": "How frameworks write it",
    "manual.sources": "Sources",
    "manual.read_by": "Read by {reader}.",
    "manual.read_by_nobody": "Nobody reads it.",
    "manual.setting_since": "Since {value}.",
    "manual.setting_last": "Until {value}.",
    "manual.setting_ignored_since": "Without effect from {value} on.",
    "manual.setting_default": "Default: {value}.",
    "manual.setting_values": "Values: {value}.",
    "manual.setting_use": "Use instead: {value}.",
    "manual.setting_risk": "Risk: {value}.",
    "manual.setting_note": "Note: {value}.",
    "manual.setting_similar": "Names that exist: {value}.",
    "manual.knob_effective": "{key} ({framework}, {where}): default {default:s}; works",
    "manual.knob_partial": (
        "{key} ({framework}, {where}): default {default:s}; works in some set-ups only"
    ),
    "manual.knob_ignored": (
        "{key} ({framework}, {where}): default {default:s}; accepted, and read by nobody"
    ),
    "manual.knob_absent": (
        "{key} ({framework}, {where}): default {default:s}; the source must be edited"
    ),
}
