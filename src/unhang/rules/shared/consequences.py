"""What one failure makes other rules see: the causes that it explains away."""

from __future__ import annotations

from unhang.model.causes import Cause

_SLOW = frozenset({Cause.CHECKPOINT_SLOW, Cause.DATA_SLOW, Cause.EVAL_SLOW, Cause.COMPILE_SLOW})
_ENDED = frozenset({Cause.RANK_EXCEPTION, Cause.RANK_CRASH, Cause.RENDEZVOUS, Cause.TIMEOUT_SHORT})
_LINKS = frozenset({Cause.NET_INTERFACE, Cause.RDMA_FAULT, Cause.P2P_FAULT, Cause.BANDWIDTH_LOW})
_LOST = _SLOW | _ENDED | _LINKS | {Cause.UNEVEN_WORK, Cause.PG_DEADLOCK}

OF_A_LOST_RANK = _LOST | {Cause.EXTERNAL_STOP}
"""A rank that is gone closes its connections, leaves collectives unanswered, and makes launchers,
schedulers and people stop the rest."""

OF_A_LOST_GPU = _LOST | {Cause.LIBRARY_BUG}
"""The rank on it raises or is ended; its peers lose their connections and wait."""

OF_FAILED_HARDWARE = OF_A_LOST_GPU | {Cause.GPU_KERNEL_FAULT, Cause.GPU_OOM, Cause.DESYNC}
"""Kernels fail on broken hardware in any way."""

OF_A_BROKEN_LINK = _ENDED | {Cause.BANDWIDTH_LOW, Cause.PG_DEADLOCK, Cause.LIBRARY_BUG}
"""Ranks raise NCCL's error or are ended by their watchdogs, and launchers report exit codes."""

OF_A_BROKEN_SETUP = OF_A_BROKEN_LINK | _SLOW | {Cause.UNEVEN_WORK}
"""Where communication never started, what the ranks did meanwhile does not matter."""

OF_RANKS_OUT_OF_STEP = (_LOST | {Cause.EXTERNAL_STOP}) - {
    Cause.RANK_EXCEPTION,
    Cause.UNEVEN_WORK,
    Cause.PG_DEADLOCK,
}
"""Ranks out of step wait until they are ended; that looks like a slow phase or a slow network, and
their ends look like lost connections, crashes and stops."""

OF_WORK_THAT_LASTS = _ENDED | {Cause.NET_INTERFACE, Cause.BANDWIDTH_LOW, Cause.PG_DEADLOCK}
"""A rank that comes late makes the others give up, raise, abort and close their connections."""

OF_A_STOP = frozenset(Cause) - {Cause.EXTERNAL_STOP}
"""Where nothing was wrong before the stop, everything after it is its echo."""
