"""What a failing GPU makes other rules see."""

from __future__ import annotations

from unhang.model.causes import Cause

ECHOES_OF_A_LOST_GPU = frozenset(
    {
        Cause.RANK_EXCEPTION,
        Cause.RANK_CRASH,
        Cause.RENDEZVOUS,
        Cause.NET_INTERFACE,
        Cause.RDMA_FAULT,
        Cause.P2P_FAULT,
        Cause.BANDWIDTH_LOW,
        Cause.CHECKPOINT_SLOW,
        Cause.DATA_SLOW,
        Cause.EVAL_SLOW,
        Cause.COMPILE_SLOW,
        Cause.UNEVEN_WORK,
        Cause.PG_DEADLOCK,
        Cause.LIBRARY_BUG,
        Cause.TIMEOUT_SHORT,
    }
)
"""The rank on it raises or is ended; its peers lose their connections and wait."""

ECHOES_OF_FAILED_HARDWARE = ECHOES_OF_A_LOST_GPU | {
    Cause.GPU_KERNEL_FAULT,
    Cause.GPU_OOM,
    Cause.DESYNC,
}
"""Kernels fail on broken hardware in any way."""
