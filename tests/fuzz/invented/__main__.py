"""Judges some of the invented jobs; which of them convict is printed."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from fuzz.invented.jobs import PLACES, jobs, sample
from fuzz.quoted import convicts


def main() -> int:
    """Judge some of the jobs of a seed, or all, and return 1 where one is convicted."""
    parser = argparse.ArgumentParser(prog="fuzz.invented", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="how many, by chance (default: all)")
    parser.add_argument("--way", help="only this one")
    parser.add_argument("--place", choices=PLACES)
    parser.add_argument("--show", action="store_true", help="print each log that convicts")
    options = parser.parse_args()
    chosen = [
        job
        for job in jobs(options.seed)
        if options.way in (None, job.way) and options.place in (None, job.place)
    ]
    if options.jobs is not None:
        chosen = sample(chosen, options.seed, options.jobs)
    ways: Counter[str] = Counter()
    for job in chosen:
        verdict = convicts(job)
        if verdict is not None:
            ways[f"{job.way} | {job.place}"] += 1
            shown = "".join(job.files.values()) if options.show else ""
            sys.stdout.write(f"{job.way} | {job.text} | {job.place}: {verdict}\n{shown}")
            sys.stdout.flush()
    for way, count in ways.most_common():
        sys.stdout.write(f"{count:5}  {way}\n")
    sys.stdout.write(f"{ways.total()} of {len(chosen)} convicted\n")
    return 1 if ways else 0


if __name__ == "__main__":
    sys.exit(main())
