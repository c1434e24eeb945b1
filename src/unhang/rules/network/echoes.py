"""What a broken set-up or a broken link makes other rules see."""

from __future__ import annotations

from unhang.model.causes import Cause

ECHOES_OF_A_BROKEN_LINK = frozenset(
    {
        Cause.RANK_EXCEPTION,
        Cause.RANK_CRASH,
        Cause.RENDEZVOUS,
        Cause.BANDWIDTH_LOW,
        Cause.PG_DEADLOCK,
        Cause.LIBRARY_BUG,
        Cause.TIMEOUT_SHORT,
    }
)
"""Ranks raise NCCL's error or are ended by their watchdogs, and launchers report exit codes."""

ECHOES_OF_A_BROKEN_SETUP = ECHOES_OF_A_BROKEN_LINK | {
    Cause.DATA_SLOW,
    Cause.CHECKPOINT_SLOW,
    Cause.EVAL_SLOW,
    Cause.COMPILE_SLOW,
    Cause.UNEVEN_WORK,
}
"""Where communication never started, what the ranks did meanwhile does not matter."""
