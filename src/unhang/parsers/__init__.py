"""From lines to events: one file per format; `PARSERS` lists them."""

from __future__ import annotations

from unhang.parsers.base import Parser
from unhang.parsers.elastic import ElasticParser
from unhang.parsers.endings import EndingsParser
from unhang.parsers.fatal_signals import FatalSignalsParser
from unhang.parsers.kubernetes import KubernetesParser
from unhang.parsers.launchers import LaunchersParser
from unhang.parsers.ray_actors import RayActorsParser
from unhang.parsers.slurm import SlurmParser
from unhang.parsers.spawn import SpawnParser
from unhang.parsers.stops import StopsParser
from unhang.parsers.traceback import TracebackParser
from unhang.parsers.watchdog import WatchdogParser

PARSERS: tuple[type[Parser], ...] = (
    ElasticParser,
    EndingsParser,
    FatalSignalsParser,
    KubernetesParser,
    LaunchersParser,
    RayActorsParser,
    SlurmParser,
    SpawnParser,
    StopsParser,
    TracebackParser,
    WatchdogParser,
)
"""Every parser, in alphabetical order of module."""
