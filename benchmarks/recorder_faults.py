"""What can go wrong in one rank of a made-up job; each fault says whom it makes guilty."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.recorder_jobs import BASE_NS, Job, Op


def _blame(job: Job, rank: int, what: str) -> None:
    job.culprits, job.what = job.culprits | {rank}, what


def stall(job: Job, rank: int, at: int) -> None:
    """The rank issues nothing from one place of its program on."""
    job.ranks[rank].stop_at = at
    _blame(job, rank, "stall")


def die(job: Job, rank: int, at: int) -> None:
    """The same, and it leaves no dump."""
    stall(job, rank, at)
    job.ranks[rank].dead = True
    _blame(job, rank, "died")


def change(job: Job, rank: int, at: int, **fields: object) -> None:
    """The rank issues another call at one place: another name, size or dtype."""
    program = job.ranks[rank].program
    program[at] = replace(program[at], **fields)  # type: ignore[arg-type]
    _blame(job, rank, "mismatch " + "/".join(fields))


def leave_out(job: Job, rank: int, at: int) -> None:
    """The rank does not issue one call that the others do."""
    del job.ranks[rank].program[at]
    _blame(job, rank, "left out")


def put_in(job: Job, rank: int, at: int, op: Op | None = None) -> None:
    """The rank issues one call more than the others; without `op` one of its own twice."""
    program = job.ranks[rank].program
    program.insert(at, program[at] if op is None else op)
    _blame(job, rank, "put in")


def cut_short(job: Job, rank: int, at: int, to: int) -> None:
    """The rank leaves out a part of its program: a batch less."""
    del job.ranks[rank].program[at:to]
    _blame(job, rank, "uneven")


def swap(job: Job, rank: int, at: int, other: int) -> None:
    """The rank issues two of its calls in the other order."""
    program = job.ranks[rank].program
    program[at], program[other] = program[other], program[at]
    _blame(job, rank, "order")


def break_device(job: Job, rank: int, at: int) -> None:
    """The rank's device stops; its host goes on as far as it may."""
    job.ranks[rank].device_stops_at = at
    _blame(job, rank, "device")


def settle(job: Job, culprit: int, line: int) -> None:
    """Put all ranks where they wait in the last call from one line, without running the job.

    Running takes a second for each thousand calls of a thousand ranks.
    """
    for rank in job.ranks:
        place = max(i for i, op in enumerate(rank.program) if op.line == line)
        for index in range(place + (rank.rank != culprit)):
            at = BASE_NS + index * 1_000_000 + rank.rank
            rank.issue(at, None)
            rank.started_at[index] = at + 1_000
            if index < place:
                rank.done_at[index] = at + 2_000
        rank.done = place
    _blame(job, culprit, "stall")
