"""Watches one job from its start to its end: the relay in this process, the agent in another."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence

from unhang.errors import UsageError
from unhang.live.messages.losses import Loss
from unhang.live.messages.request import ABORT, RunRequest
from unhang.live.relay.agent_process import AgentProcess
from unhang.live.relay.channel import Channel
from unhang.live.relay.copies import Copies
from unhang.live.relay.launch import adopt_orphans, launch
from unhang.live.relay.relay import Relay, RunEnd
from unhang.live.relay.signal_group_probe import SignalGroupProbe
from unhang.live.relay.signals import Signals
from unhang.live.relay.streams import STDERR, fill_gaps, open_streams
from unhang.live.run_folder.clock import RunClock
from unhang.live.run_folder.layout import OWNER_ONLY, RunFolder
from unhang.live.run_folder.local_scratch import drop, has_room
from unhang.live.run_folder.record import begin, close_record, open_record
from unhang.live.run_options import RunOptions, ask
from unhang.model.provenance import Message
from unhang.probe.environment import additions
from unhang.reporters.catalogue import write
from unhang.reporters.style import PLAIN, Style


def run(
    command: Sequence[str],
    *,
    out: str | None = None,
    timeouts: str = "keep",
    on_hang: str = "report",
    patience: str = "auto",
    notify: Sequence[str] = (),
    nodes: int | None = None,
    node_rank: int | None = None,
    collector: str | None = None,
    shared: str | None = None,
    style: Style = PLAIN,
) -> int:
    """Run a launch command unchanged, and watch the job, in this process's place.

    Args:
        command: its words.
        out: run folder; None = a new one in `unhang-runs/`.
        timeouts: `keep`, `judge`, or a duration such as `2h` for all process groups.
        on_hang: `report`, `abort`, or `exec:` and a shell command.
        patience: how long ranks that show no life are left alone where nothing proves a hang:
            `auto`, or a duration such as `300` or `10m`.
        notify: addresses that are told of a confirmed hang.
        nodes: how many run this command; None = from Slurm's or torchrun's words.
        node_rank: index of this one, likewise.
        collector: address at which node 0 listens and to which the others report.
        shared: a run folder that all nodes can write, instead.
        style: of the terminal that standard error is.

    Returns:
        The exit code of the command as a shell counts (128 + n for signal n), or 86 when a
        confirmed hang was ended and nothing started the job again.

    Raises:
        UsageError: the command cannot be started, or the run folder cannot be made.
    """
    wishes = RunOptions(
        words=tuple(command),
        out=out,
        timeouts=timeouts,
        on_hang=on_hang,
        patience=patience,
        notify=tuple(notify),
        nodes=nodes,
        node_rank=node_rank,
        collector=collector,
        shared=shared,
        style=style,
    )
    return _watch(ask(wishes))


def _watch(request: RunRequest) -> int:
    folder, near = RunFolder(request.root), RunFolder(request.near)
    clock, began_s = RunClock.begin(), time.monotonic()
    record = begin(request, clock)
    try:
        folder.make()
        near.make()
        folder.output(request.host).mkdir(mode=OWNER_ONLY, exist_ok=True)
        open_record(folder, record)
    except OSError as error:
        raise UsageError(
            f"cannot write the run folder {request.root}: {error.strerror};"
            " name another one with --out"
        ) from error
    ending, lost = _run(request, folder, clock)
    exit_code = ending.exit_code if ending.replaced is None else ending.replaced
    record |= {
        "ended": clock.stamp(),
        "elapsed_s": round(time.monotonic() - began_s, 3),
        "exit_code": exit_code,
        "outcome": ending.outcome,
    }
    try:
        close_record(folder, record, lost)
    except OSError as error:  # the job's exit code still counts
        _say_losses((Loss.of("record_unwritten", why=str(error.strerror)), *lost), request.style)
    drop(request.near, request.root)
    return exit_code


def _say_losses(lost: Iterable[Loss], style: Style) -> None:
    """The last that can be done for a record that cannot be written."""
    text = "".join(f"unhang: {loss.say(style.language)}\n" for loss in lost)
    with contextlib.suppress(OSError):
        os.write(STDERR, text.encode(errors="replace"))


def _run(
    request: RunRequest, folder: RunFolder, clock: RunClock
) -> tuple[RunEnd, tuple[Loss, ...]]:
    fill_gaps()
    signals = Signals()
    group_probe = SignalGroupProbe(signals)
    streams = open_streams()
    adopt_orphans()
    environment = os.environ | additions(
        os.environ,
        run_folder=str(request.near),
        host=request.host,
        timeouts=str(request.timeouts),
        restarts=request.on_hang == ABORT,
    )
    pid = launch(request.command, environment, streams, signals.before)
    copies = Copies(folder.output(request.host), clock)
    channels = [Channel(stream, copies) for stream in streams.mine]
    agent = AgentProcess(request, pid, clock, request.root / "agents" / f"{request.host}.log")
    agent.start()
    announcer = Announcer(channels)
    watching = Message(key="run.watching", values={"path": str(request.root)})
    announcer.say(write(watching, request.style.language))
    if request.root.exists() and not has_room(request.root):
        key = "run.full_near" if request.near != request.root else "run.full"
        values = {"path": str(request.root), "near": str(request.near)}
        announcer.say(write(Message(key=key, values=values), request.style.language))
    relay = Relay(
        pid=pid,
        channels=channels,
        copies=copies,
        signals=signals,
        group_probe=group_probe,
        agent=agent,
        say=announcer.say,
    )
    ending = relay.run()
    return ending, (*ending.lost, *copies.close())


class Announcer:
    """Says something to the user between the lines of the job."""

    def __init__(self, channels: list[Channel]) -> None:
        self._channels = channels

    def say(self, text: str) -> None:
        """Write a text to standard error, each line marked as ours if it is only one."""
        shown = text if "\n" in text else f"unhang: {text}"
        start = "" if all(c.at_line_start for c in self._channels) else "\n"
        with contextlib.suppress(OSError):
            os.write(STDERR, f"{start}{shown}\n".encode(errors="replace"))
