"""The phases of a training job."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """What a rank is doing. The value is the id in JSON."""

    INIT = "init"
    LOAD = "load"
    DATA = "data"
    COMPILE = "compile"
    TRAIN = "train"
    EVAL = "eval"
    GENERATE = "generate"
    SAVE = "save"
    LOGGING = "logging"
    TEARDOWN = "teardown"


class PhaseEdge(enum.Enum):
    """Whether a mark opens a phase, closes it, or merely shows that it is under way."""

    BEGIN = "begin"
    END = "end"
    DURING = "during"
