"""From two reports of the kernel on a process to what moved in a second between them."""

from __future__ import annotations

from unhang.live.messages.reports import ProcessFacts


def rates_of(before: ProcessFacts, after: ProcessFacts, passed_s: float) -> dict[str, float | None]:
    """What moved in a second, by sign of life."""
    grown = None
    if before.rss_bytes is not None and after.rss_bytes is not None and passed_s > 0:
        grown = abs(after.rss_bytes - before.rss_bytes) / passed_s
    return {
        "bytes": rate_of(
            _sum(before.read_bytes, before.write_bytes),
            _sum(after.read_bytes, after.write_bytes),
            passed_s,
        ),
        "threads": rate_of(before.threads_cpu_s, after.threads_cpu_s, passed_s),
        "children": rate_of(before.family_cpu_s, after.family_cpu_s, passed_s),
        "children_bytes": rate_of(before.family_bytes, after.family_bytes, passed_s),
        "faults": rate_of(before.faults, after.faults, passed_s),
        "memory": grown,
    }


def ready_share(before: ProcessFacts, after: ProcessFacts, passed_s: float) -> float:
    """Of the time that passed, the part for which it was ready to run and no core was free.

    The kernel counts a wait for a core when it is over: until then the state alone tells.
    """
    main = rate_of(before.main_delayed_s, after.main_delayed_s, passed_s) or 0.0
    helpers = rate_of(before.helpers_delayed_s, after.helpers_delayed_s, passed_s) or 0.0
    used = rate_of(before.main_cpu_s, after.main_cpu_s, passed_s)
    if used is not None and before.state == after.state == "R":
        main = max(main, 1 - used)
    return min(1.0, max(main, helpers))


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def rate_of(before: float | None, after: float | None, passed_s: float) -> float | None:
    """Growth of one counter in a second; None = unknown."""
    if before is None or after is None or passed_s <= 0:
        return None
    return (after - before) / passed_s if after > before else 0.0
