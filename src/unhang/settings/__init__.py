"""What is known of NCCL, PyTorch and framework settings, by release, with its sources.

`page(name)` is what `unhang explain` prints of a setting; `judge` says whether a setting in a
user's files does what it was put there for.
"""

from __future__ import annotations

from unhang.settings.frameworks import (
    Framework,
    family_of,
    find_framework,
    find_knob,
    frameworks,
    in_family,
)
from unhang.settings.knobs import Knob
from unhang.settings.lookup import (
    find_other,
    find_setting,
    is_myth,
    key_in,
    suggest,
    timeout_knobs,
)
from unhang.settings.pages import Page, page
from unhang.settings.tables import (
    KnobStatus,
    Library,
    NameKind,
    OtherName,
    Reach,
    Setting,
    TimeoutKnob,
)
from unhang.settings.verdicts import SettingContext, SettingVerdict, judge

__all__ = [
    "Framework",
    "Knob",
    "KnobStatus",
    "Library",
    "NameKind",
    "OtherName",
    "Page",
    "Reach",
    "Setting",
    "SettingContext",
    "SettingVerdict",
    "TimeoutKnob",
    "family_of",
    "find_framework",
    "find_knob",
    "find_other",
    "find_setting",
    "frameworks",
    "in_family",
    "is_myth",
    "judge",
    "key_in",
    "page",
    "suggest",
    "timeout_knobs",
]
