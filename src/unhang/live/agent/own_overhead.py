"""Takes out of the counters of a process what our own questions to it cost.

A rank that hangs does nothing. The dump that we ask it for makes it compute and write, and a
debugger stops it for a moment: read as life of its own, that would call the hang resolved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from unhang.live.messages.reports import ProcessFacts

_TRACED = "t"

_Counters = tuple[float | None, int | None, int | None]


@dataclass(slots=True)
class OwnOverhead:
    """The counters of one process, without what we cause.

    From the reading before a disturbance to the first one after it, the counters stand still.
    """

    _shown: _Counters = (None, None, None)
    _ours: tuple[float, int, int] = (0.0, 0, 0)
    _was_disturbed: bool = False

    def correct(self, facts: ProcessFacts, *, disturbed: bool) -> ProcessFacts:
        """Return the facts as they would be without us."""
        now: _Counters = (facts.cpu_s, facts.read_bytes, facts.write_bytes)
        if disturbed or self._was_disturbed:
            self._ours = (
                _excess(now[0], self._shown[0], self._ours[0]),
                int(_excess(now[1], self._shown[1], self._ours[1])),
                int(_excess(now[2], self._shown[2], self._ours[2])),
            )
        self._was_disturbed = disturbed
        cpu_s = None if now[0] is None else now[0] - self._ours[0]
        read_bytes = None if now[1] is None else now[1] - self._ours[1]
        write_bytes = None if now[2] is None else now[2] - self._ours[2]
        self._shown = (cpu_s, read_bytes, write_bytes)
        state = None if disturbed and facts.state == _TRACED else facts.state
        overhead = replace(
            facts, cpu_s=cpu_s, read_bytes=read_bytes, write_bytes=write_bytes, state=state
        )
        # What is counted too finely to be told apart is left out for so long.
        if not disturbed:
            return overhead
        return replace(
            overhead,
            faults=None,
            rss_bytes=None,
            main_delayed_s=None,
            main_runs=None,
            threads_cpu_s=None,
            helpers_delayed_s=None,
            young=(),
        )


def _excess(now: float | None, shown: float | None, known: float) -> float:
    """How far a counter is ahead of what we showed; as before, where one of them is unknown."""
    return known if now is None or shown is None else now - shown
