"""What the loss of a rank, and a stop of the whole job, make other rules see."""

from __future__ import annotations

from unhang.model.causes import Cause

NO_CAUSES: frozenset[Cause] = frozenset()

ECHOES_OF_A_LOST_RANK = frozenset(
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
        Cause.TIMEOUT_SHORT,
        Cause.EXTERNAL_STOP,
    }
)
"""A rank that is gone closes its connections, leaves collectives unanswered, and makes launchers,
schedulers and people stop the rest."""

ECHOES_OF_A_STOP = frozenset(Cause) - {Cause.EXTERNAL_STOP}
"""Where nothing was wrong before the stop, everything after it is its echo."""
