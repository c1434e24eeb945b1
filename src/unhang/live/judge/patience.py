"""How long ranks that may be at work are left alone before their job is ended.

To name a rank costs nothing, and to end a job costs the work since its last checkpoint. So whatever
does not prove a hang by itself is given time, in proportion to what an end would cost: as long as
waiting has cost less than that. Whoever shows life gets it anew, without an end.
"""

from __future__ import annotations

from dataclasses import dataclass

from unhang.live.judge.checkpoints import Checkpoints
from unhang.live.judge.usual_durations import DurationKind, UsualDurations, Where

FLOOR_S = 60.0
"""Nobody is ended for standing still for less: not a main thread that waits for a lock or a queue
of its own process, in which nothing else moves either, so that only the process could end it."""
OUTSIDE_S = 600.0
"""The same for all that may go on by something that nobody sees here: a timer, a server, a device,
a person at a debugger, the network, who stopped a process. A rank that sleeps, or waits for an
answer, shows no more of it for minutes than one that does so for ever."""
UNKNOWN_LIMIT_S = 1_800.0
"""The limit that the program is taken to have set where it does not tell: torch's own for gloo."""
TIMES_USUAL = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stood:
    """What stands without a proof that it is a hang.

    Attributes:
        ranks: how many stand, those that are waited for included.
        waited_s: how long the first of them has waited.
        limit_s: the limit that the program asked for; None = unknown.
        alone: nothing outside of the process that is waited for could let it go on.
        stirs: it wakes up now and then.
    """

    ranks: int
    waited_s: float
    limit_s: float | None = None
    alone: bool = False
    stirs: bool = False


@dataclass(slots=True)
class Patience:
    """The patience of one run.

    Args:
        asked_s: `--patience SECONDS`: of all that shows no sign of life; None = as below.
        usual: what is usual in this job.
        checkpoints: the saves that were seen.
    """

    usual: UsualDurations
    checkpoints: Checkpoints
    asked_s: float | None = None
    now_s: float = 0.0
    world: int = 1

    def needed_s(self, claimed: Stood, *where: Where) -> float:
        """Observed seconds without life after which an end costs less than waiting on.

        Args:
            claimed: what stands, and for how long.
            where: places and phases of those that are waited for; none = all wait in one call.
        """
        if self.asked_s is not None:
            return self.asked_s
        habit = DurationKind.LATE if where else DurationKind.TOGETHER
        usual_s = self.usual.usual_s(habit, *(where or (None,)))
        limit_s = UNKNOWN_LIMIT_S if claimed.limit_s is None else claimed.limit_s
        least_s = FLOOR_S if claimed.alone and not claimed.stirs else OUTSIDE_S
        most_s = max(least_s, limit_s, 2 * usual_s)
        if claimed.stirs:
            return most_s
        # Ranks that wait lose their time; an end loses that of all since the last checkpoint.
        unsaved_s = self.checkpoints.unsaved_s(self.now_s) - claimed.waited_s
        cost_s = unsaved_s * self.world / max(1, claimed.ranks)
        return min(max(least_s, TIMES_USUAL * usual_s, cost_s), most_s)
