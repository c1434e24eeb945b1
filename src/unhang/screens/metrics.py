"""From a standing to metrics for Prometheus; names and labels are part of the public contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from unhang import __version__
from unhang.errors import UsageError
from unhang.live.messages.job_snapshot import GroupView, JobSnapshot, RankView, Stage
from unhang.redaction import Redactor
from unhang.screens.feed import Feed, RunRecord

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_RANK_GAUGES: tuple[tuple[str, str, Callable[[RankView], float | None]], ...] = (
    ("rank_condition_seconds", "How long the rank has done the same.", lambda r: r.since_s),
    ("rank_beat_age_seconds", "Since its probe was heard.", lambda r: r.beat_age_s),
    ("rank_rss_bytes", "Resident memory of the process.", lambda r: r.rss_bytes),
    ("rank_gpu_bytes", "GPU memory that PyTorch has allocated.", lambda r: r.gpu_bytes),
    ("rank_cpu_share", "Of one core, between the last two reports.", lambda r: r.cpu_share),
)
_RANK_COUNTERS: tuple[tuple[str, str, Callable[[RankView], float | None]], ...] = (
    ("rank_steps", "Optimizer steps so far.", lambda r: r.steps),
    ("rank_read_bytes", "Read by system calls, files and sockets alike.", lambda r: r.read_bytes),
    ("rank_written_bytes", "Written, likewise.", lambda r: r.write_bytes),
)
_GROUP_GAUGES: tuple[tuple[str, str, Callable[[GroupView], float | None]], ...] = (
    (
        "group_stalled_seconds",
        "How long it has stood with a call open; 0 = it moves.",
        lambda g: g.since_s or 0.0,
    ),
    ("group_waiting_ranks", "Members that wait in the open call.", lambda g: len(g.waiting)),
    ("group_lacking_ranks", "Members that have not issued it.", lambda g: len(g.lacking)),
    ("group_timeout_seconds", "The shortest limit in force.", lambda g: _seconds(g.timeout_ms)),
)


def metrics(feed: Feed, redactor: Redactor) -> bytes:
    """Return the exposition text of a run, as it is now.

    Raises:
        UsageError: the library that writes the format is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError as error:
        raise UsageError(
            "/metrics needs prometheus-client; install it with: pip install 'unhang[screens]'"
        ) from error
    registry = CollectorRegistry()
    registry.register(_Collector(feed, redactor))
    return generate_latest(registry)


class _Collector:
    """What `prometheus_client` asks for metrics."""

    def __init__(self, feed: Feed, redactor: Redactor) -> None:
        self._feed = feed
        self._redactor = redactor

    def describe(self) -> list[Metric]:
        """Nothing in advance: the folder is read when somebody asks."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Everything that the folder tells now."""
        live = self._feed.is_live()
        yield from _run(self._redactor.tree(self._feed.record()), live=live)
        standing = self._redactor.tree(self._feed.standing())
        # Numbers of a run that nobody watches any more would look like a job that stands still.
        if standing is not None and live:
            yield from _job(standing)
            yield from _ranks(standing)
            yield from _groups(standing)


def _run(record: RunRecord, *, live: bool) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily

    yield GaugeMetricFamily("unhang_live", "1 while an agent watches the run.", value=float(live))
    info = InfoMetricFamily("unhang_run", "What is watched.")
    labels = {
        "version": __version__,
        "host": record.host,
        "command": " ".join(record.command)[:200],
        "timeouts": record.timeouts,
    }
    info.add_metric([], labels)
    yield info


def _job(standing: JobSnapshot) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    yield GaugeMetricFamily(
        "unhang_world_size", "Ranks of the job.", value=standing.world_size or 0
    )
    yield GaugeMetricFamily("unhang_up_seconds", "Since the first report.", value=standing.up_s)
    yield CounterMetricFamily(
        "unhang_restarts", "Starts of the job before this one.", value=standing.restart or 0
    )
    yield GaugeMetricFamily(
        "unhang_losses", "Things that could not be seen or done.", value=len(standing.lost)
    )
    counts = Counter((r.condition.value, r.phase.value if r.phase else "") for r in standing.ranks)
    ranks = GaugeMetricFamily(
        "unhang_ranks", "Ranks by what they do.", labels=["condition", "phase"]
    )
    for key, count in sorted(counts.items()):
        ranks.add_metric(key, count)
    yield ranks
    stages = GaugeMetricFamily(
        "unhang_suspicions", "Held against ranks, by how sure it is.", labels=["stage"]
    )
    for stage in Stage:
        stages.add_metric([stage.value], sum(s.stage is stage for s in standing.suspicions))
    yield stages
    ages = GaugeMetricFamily(
        "unhang_host_report_age_seconds", "Since the host reported.", labels=["host"]
    )
    for host in standing.hosts:
        ages.add_metric([host.host], host.age_s)
    yield ages


def _ranks(standing: JobSnapshot) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    families: list[
        tuple[GaugeMetricFamily | CounterMetricFamily, Callable[[RankView], float | None]]
    ]
    families = [
        *(
            (GaugeMetricFamily(f"unhang_{name}", about, labels=["rank", "host"]), value)
            for name, about, value in _RANK_GAUGES
        ),
        *(
            (CounterMetricFamily(f"unhang_{name}", about, labels=["rank", "host"]), value)
            for name, about, value in _RANK_COUNTERS
        ),
    ]
    for family, value in families:
        for rank in standing.ranks:
            if (number := value(rank)) is not None:
                family.add_metric([str(rank.rank), rank.host], number)
        yield family


def _groups(standing: JobSnapshot) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    for name, about, value in _GROUP_GAUGES:
        family = GaugeMetricFamily(f"unhang_{name}", about, labels=["group", "description"])
        for group in standing.groups:
            if (number := value(group)) is not None:
                family.add_metric([group.name, group.description], number)
        yield family


def _seconds(timeout_ms: int | None) -> float | None:
    return None if timeout_ms is None else timeout_ms / 1_000
