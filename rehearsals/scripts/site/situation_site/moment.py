"""The moment of a fault, written where the kit writes those of its own."""

import datetime
import json
import os


def fault_begins(what):
    """Append the moment to the acts of the drill, just before the fault."""
    drill = os.environ.get("UNHANG_DRILL")
    if not drill:
        return
    folder = os.path.join(drill, "kit", "acts")
    os.makedirs(folder, exist_ok=True)
    row = {"what": what, "at": datetime.datetime.now(datetime.timezone.utc).isoformat()}
    with open(os.path.join(folder, f"situation-{os.getpid()}.json"), "a") as f:
        f.write(json.dumps(row) + "\n")
