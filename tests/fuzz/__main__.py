"""`make fuzz`: mutated inputs until the time is over; what fails is kept, and told.

python -m fuzz --seconds 3600        # from tests/
python -m fuzz --inputs 20000 --seed 7
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

from fuzz.attack import Failure, attack
from fuzz.mutate import mutate, seeds

_TESTS = Path(__file__).resolve().parents[1]
KEPT = _TESTS / "data" / "fuzz"
"""What failed once, as small as somebody made it; every test run tries it again."""


def main() -> int:
    """Attack, and return 1 where something failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--inputs", type=int, default=1 << 62)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--keep", type=Path, default=KEPT / "fresh")
    options = parser.parse_args()
    source = random.Random(options.seed)
    begun = time.monotonic()
    failures: list[Failure] = []
    roots = seeds(_TESTS / "cases", _TESTS / "data")
    worst_s = worst_mib = 0.0
    done = 0
    while done < options.inputs and time.monotonic() - begun < options.seconds:
        batch = []
        for _ in range(min(200, options.inputs - done)):
            seed = source.choice(roots)
            batch.append(mutate(seed.read_bytes(), seed.name, source))
        result = attack(batch)
        done += len(batch)
        worst_s, worst_mib = max(worst_s, result.worst_s), max(worst_mib, result.worst_mib)
        for failure in result.failures:
            failures.append(failure)
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{options.seed}-{len(failures)}-{failure.name}").write_bytes(
                failure.data
            )
            sys.stdout.write(f"{failure.name}: {failure.what}\n")
            sys.stdout.flush()
    sys.stdout.write(
        f"{done} inputs, {len(failures)} failures; at most {worst_s:.1f} s and {worst_mib:.0f} MiB;"
        f" seed {options.seed}\n"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
