"""What an event means, whatever it says in particular: stated once, on its class."""

from __future__ import annotations

import enum


class Fact(enum.Enum):
    """What events of a class show. A rule names the facts it needs; without them it cannot run."""

    TIMEOUTS = "collective time-outs"
    STATUS = "last enqueued / last completed counters"
    DESYNC_REPORT = "a desync report"
    FINGERPRINTS = "DETAIL-mode fingerprints"
    BARRIERS = "monitored barriers"
    EXCEPTIONS = "Python exceptions"
    EXITS = "exit codes"
    KERNEL_LOG = "the kernel log"
    DEVICE_ERRORS = "CUDA errors"
    NCCL_WARNINGS = "NCCL warnings or errors"
    NCCL_INFO = "NCCL_DEBUG=INFO lines"
    STORE = "store and rendezvous messages"
    GLOO = "Gloo errors"
    PHASES = "phase marks or progress bars"
    STOPS = "stop signals"
    STACKS = "live stacks"
    RAS = "answers of NCCL's RAS"
    HOST_REPORTS = "reports of nvidia-smi or ibstat"
    CHECKS = "a report of unhang check"
    DUMPS = "Flight Recorder dumps"
    UNUSABLE_DUMPS = "dumps that are empty or were refused"
    ANNOUNCEMENTS = "announcements of ranks at start-up"
    GUESSES = "guessed devices"
    VERSIONS = "versions of libraries"
    BANDWIDTH = "measured bandwidths"
    INSPECTOR = "logs of NCCL Inspector"
    GPU_TABLE = "tables of nvidia-smi"
    RANK_TIMES = "times of each rank"
    TRIALS = "runs with another setting"
    LIVE = "a record of the live judge"


class Witness(enum.Enum):
    """Who tells. Only what a process prints itself has the process for its origin."""

    PROCESS = "the process itself"
    LAUNCHER = "a launcher, a scheduler or a parent process"
    KERNEL = "the kernel log of a host"
    TOOL = "a tool that was asked about the job or a host"
    STACK = "a stack that was taken of the process"
    RECORDER = "a Flight Recorder dump"
    JUDGE = "the live judge"


class Role(enum.Enum):
    """What it is in the course of a job. Each is a union of its own in `model.events`."""

    ALARM = "somebody gave up waiting for others"
    FAULT = "something failed"
    END = "a process or the job ended"
    BOUNDARY = "the job was begun, or begun anew"
    WORK = "a state of work: the job moves"
    PHASE = "a phase began, goes on or ended"
    CONNECTION = "ranks connect to each other"
    SETUP = "what the job is made of"
    REPORT = "what somebody reports who was asked or looks on"


TROUBLE = frozenset({Role.ALARM, Role.FAULT, Role.END})
"""Roles of events that speak against a job."""
