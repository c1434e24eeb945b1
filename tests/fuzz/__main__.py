"""`make fuzz`: mutated inputs of every command for a time; what fails is kept, and told.

python -m fuzz --seconds 3600        # from tests/
python -m fuzz --inputs 20000 --seed 7
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

from fuzz.attack import Failure, attack
from fuzz.requests import KEPT, REQUEST, some


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
    failures = 0
    worst_s = worst_mib = 0.0
    done = 0
    while done < options.inputs and time.monotonic() - begun < options.seconds:
        batch = some(source, min(200, options.inputs - done))
        result = attack(batch)
        done += len(batch)
        worst_s, worst_mib = max(worst_s, result.worst_s), max(worst_mib, result.worst_mib)
        for failure in result.failures:
            failures += 1
            _keep(failure, options.keep / f"{options.seed}-{failures}")
            _say(f"{failure.request.name}: {failure.what}")
        _say(f"{done} inputs, {failures} failures, {worst_s:.1f} s, {worst_mib:.0f} MiB")
    _say(
        f"{done} inputs, {failures} failures; at most {worst_s:.1f} s and {worst_mib:.0f} MiB;"
        f" seed {options.seed}"
    )
    return 1 if failures else 0


def _keep(failure: Failure, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in failure.request.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    told = {"what": failure.what, "arguments": failure.request.arguments}
    (folder / REQUEST).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
