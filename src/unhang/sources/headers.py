"""Log headers: what stands in front of a message and says how severe it is and which code wrote it.

Shapes, by who prints them::

    [E ProcessGroupNCCL.cpp:828]                                   c10 of torch <= 2.3
    [E314 14:33:45.172185860 ProcessGroupNCCL.cpp:607]             c10 of torch >= 2.4
    W1121 01:38:58.894000 11722 torch/distributed/…/api.py:1028]   glog, and Python of torch >= 2.3
    E0000 00:00:1773425114.221877 4412 coordination_service_agent.cc:369]  absl before it is set up
    [2024-01-09 10:11:12,345] torch.distributed.elastic…api: [ERROR]       torch 2.1 and 2.2
    ERROR:torch.distributed.elastic.multiprocessing.api:           Python's basic configuration
    [2025-06-02 11:17:52,557] [INFO] [launch.py:315:sigkill_handler]       DeepSpeed
    ERROR 06-02 11:17:52 [core.py:459]                             vLLM
    [WARNING|trainer.py:982] 2025-06-02 11:17:52,557 >>            Transformers
    [NeMo W 2024-05-01 22:04:11 nemo_logging:349]                  NeMo
    2025-06-02 11:17:52.557 | INFO     | module:function:12 -      loguru
    [2025-06-02 11:17:52,557][package.module][INFO] -              Hydra
    [06/02 11:17:52 d2.engine.train_loop]:                         Detectron2
    2025-06-02 11:17:52 [error    ] text   key=value               structlog

The month of c10 is not padded: `E314` is 14 March, `E1121` is 21 November.
"""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.sources import stamps
from unhang.sources.line import Header

_LEVEL = "TRACE|DEBUG|INFO|SUCCESS|WARN|WARNING|ERROR|CRITICAL|FATAL"
_FILE = r"(?P<file>[\w./\\+-]{1,200}?)"
_AT = rf"{_FILE}:(?P<line>\d{{1,7}})"
_CODE = (
    r"(?P<file>(?:[A-Za-z]:)?[\w./\\+-]{1,200}?\.(?:cpp|cc|cu|hpp|h|py|rs|go|c)):(?P<line>\d{1,7})"
)

HEADERS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\[(?P<letter>[EWIFV]){stamps.C10} {_AT}\] ?",
        rf"\[(?P<letter>[EWIFVD]) {_AT}\] ?",
        # The bracket, and the letter before it, may be lost where a line was cut.
        rf"(?P<letter>[EWIFVD])?{stamps.C10}\s+(?P<pid>\d{{1,20}}) {_AT}\] ?",
        rf"(?P<letter>[EWIFV]){stamps.C10} {_AT}\] ?",
        rf"(?P<letter>[EWIFV])0000 00:00:{stamps.EPOCH}\s+(?P<pid>\d{{1,20}}) {_AT}\] ?",
        rf"(?P<letter>[EWIF] )?{_CODE}\] ?",
        rf"\[{stamps.ISO} (?P<letter>[EWIFD]) (?P<pid>\d{{1,20}}) \d+\] (?:\(\w+\) )?{_AT}: ?",
        rf"(?P<level>{_LEVEL}):(?P<file>[A-Za-z_][\w.]{{0,200}}):",
        r"(?P<file>[A-Za-z_]\w*(?:\.\w+){1,12}): "
        rf"\[(?P<level>{_LEVEL})\] ?",
        r"\[(?P<level>debug|info|warning|error|critical|fatal) *\] {1,4}(?=\S)",
        rf"\[(?P<level>{_LEVEL}|[EWID])\] ?\[{_AT}(?::[\w<>]+)?\] ?",
        rf"\[(?P<file>[\w.]{{1,100}})\]\[(?P<level>{_LEVEL})\] - ",
        rf"\[{stamps.NO_YEAR} (?P<file>[\w.]{{1,100}})\]: ",
        rf"(?P<level>{_LEVEL}) {stamps.NO_YEAR} \[?{_AT}\] ?",
        rf"(?P<level>{_LEVEL}) \[{_CODE}\] ?",
        rf"\[(?P<level>{_LEVEL})\|{_AT}\] (?:{stamps.ISO} )?>> ?",
        rf"\[\w+ (?P<letter>[EWID]) {stamps.ISO} {_AT}\] ?",
        rf"(?:\| )?(?P<level>{_LEVEL}) *\| {_FILE}:[\w<>]+:(?P<line>\d{{1,7}}) - ?",
        rf"(?P<level>{_LEVEL}) {{1,5}}{stamps.ISO} +(?P<pid>\d{{1,20}}) +{_FILE}"
        r"\[line:(?P<line>\d{1,7})\] ?",
        rf"(?P<level>{_LEVEL}) - (?P<file>[\w.]{{1,100}}) - ",
        rf"(?P<file>[\w.]{{1,100}}) - (?P<level>{_LEVEL}) - ",
    )
)


def header(match: re.Match[str]) -> Header:
    """What one of the patterns above says; the line is 0 where the header has none."""
    groups = match.groupdict()
    severity = (groups.get("letter") or groups.get("level") or "").upper()
    return Header(
        severity="F" if severity == "CRITICAL" else severity[:1],
        file=groups.get("file") or "",
        line=int(groups.get("line") or 0),
    )
