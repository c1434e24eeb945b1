"""Exceptions out of the place where ranks meet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import unhang
from support.builders import by, incident, source
from unhang.model.causes import Cause
from unhang.model.events import ExceptionKind, Frame, PythonException, StoreFault, StoreProblem
from unhang.model.finding import Strength
from unhang.rules.config.process_group_not_made import check

FRAMES = """Traceback (most recent call last):
  File "/job/train.py", line 21, in main
    dist.init_process_group("nccl")
  File "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 1710, in {f}
    store, rank, world_size = next(rendezvous_iterator)
  File "{file}", line 191, in {function}
    x
"""
TORCH = "/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py"


def seen(kind: ExceptionKind = ExceptionKind.RENDEZVOUS) -> PythonException:
    return PythonException(
        source=source(), origin=by(3), kind=kind, exception="OSError", message="[Errno 99] x"
    )


def test_the_job_could_not_start() -> None:
    (finding,) = check(incident(seen()))
    assert (finding.cause, finding.strength) == (Cause.RENDEZVOUS, Strength.SUPPORTS)
    assert not finding.culprits


def test_a_loader_that_waits_for_its_seed_has_met_the_others_before() -> None:
    file = "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py"
    frames = (Frame(file=file, line=619, function="_get_shared_seed"),)
    assert list(check(incident(replace(seen(), frames=frames)))) == []


def test_what_the_store_says_tells_more() -> None:
    told = StoreFault(source=source(2), origin=by(), problem=StoreProblem.CONNECT_TIMED_OUT)
    assert not list(check(incident(seen(), told)))
    assert not list(check(incident(seen(ExceptionKind.USER))))


@pytest.mark.parametrize(
    ("file", "function", "error"),
    [
        (TORCH, "_create_c10d_store", "OSError: [Errno 99] Cannot assign requested address"),
        (TORCH, "_env_handler", "ConnectionRefusedError: [Errno 111] Connection refused"),
        (TORCH, "_env_handler", "ValueError: host not found: Name or service not known"),
        ("/usr/lib/python3.11/socket.py", "getaddrinfo", "socket.gaierror: [Errno -2] not known"),
    ],
)
def test_where_it_was_raised_decides(file: str, function: str, error: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    frames = FRAMES.format(file=file, function=function, f="init_process_group")
    log.write_text(f"{frames}{error}\n")
    assert unhang.diagnose(str(log)).cause is Cause.RENDEZVOUS
    ours = frames.replace(file, "/job/metrics.py").replace("init_process_group", "report")
    log.write_text(f"{ours}{error.replace('host not found: ', '')}\n")
    assert unhang.diagnose(str(log)).cause is Cause.RANK_EXCEPTION


def test_a_closed_rendezvous_is_an_echo() -> None:
    (finding,) = check(incident(replace(seen(), exception="RendezvousClosedError")))
    assert finding.strength is Strength.HINTS
    (finding,) = check(incident(replace(seen(), exception="RendezvousClosedError"), seen()))
    assert finding.strength is Strength.SUPPORTS
