"""The patches for groups that no setting reaches do what they say, on real groups (Gloo)."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from unhang.model.causes import Cause
from unhang.model.incident import Incident
from unhang.remedies.context import GroupKind, RemedyContext
from unhang.remedies.timeouts import lengthen

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed"),
]

PROGRAM = """
import datetime
import os
import torch
import torch.distributed as dist

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
store = dist.HashStore()
dist.init_process_group(
    "gloo", store=store, rank=0, world_size=1, timeout=datetime.timedelta(seconds=77)
)
other = dist.new_group([0])
cpu = torch.device("cpu")


def timeouts():
    groups = (dist.group.WORLD, other)
    return [g._get_backend(cpu).options._timeout.total_seconds() for g in groups]


print("before", timeouts())
{patch}
print("after", timeouts())
"""


def test_the_patch_reaches_groups_that_do_not_inherit() -> None:
    case = RemedyContext(
        cause=Cause.TIMEOUT_SHORT,
        framework="verl",
        group=GroupKind.SUBGROUP,
        expired_s=1_800,
        incident=Incident(),
    )
    fix = next(lengthen(case))
    program = PROGRAM.replace("{patch}", fix.patch)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "before [77.0, 1800.0]",
        f"after [{fix.title.values['new']}.0, {fix.title.values['new']}.0]",
    ], done.stderr
