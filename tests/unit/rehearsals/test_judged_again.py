"""A rehearsal that is judged anew: the artifacts stay, verdicts and pages are made again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rehearsals.record import AttemptEnd, Rehearsal, read_rehearsal
from rehearsals.registry import SITUATIONS
from rehearsals.workplace import SCRIPTS

from unhang.commands.drill import command
from unhang.lab.scoring import Judged, Mark
from unhang.lab.truth import Truth

pytestmark = pytest.mark.process

NAME = "trl-slow-save"
LOG = """ 50%|███  | 4/8 [00:00<00:00, 16.47it/s]
Writing model shards:   0%|          | 0/1 [00:00<?, ?it/s]
[rank1]: Traceback (most recent call last):
[rank1]:   File "site-packages/accelerate/utils/operations.py", line 355, in _gpu_gather_one
[rank1]:     torch.distributed.all_gather(output_tensors, tensor)
[rank1]: RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting 10000ms for \
send operation to complete
W1121 10:58:24.486000 14501 torch/distributed/elastic/multiprocessing/api.py:1028] Sending \
process 14656 closing signal SIGTERM
E1121 10:58:24.604000 14501 torch/distributed/elastic/multiprocessing/api.py:1002] failed \
(exitcode: 1) local_rank: 1 (pid: 14657) of binary: python
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 14656)  (SIGTERM)
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 14657)
"""
OLD = Rehearsal(
    name=NAME,
    versions={"trl": "1.16.0"},
    before=AttemptEnd(finished=False, seconds=18.0, exit_code=1),
    judged=(
        Judged(
            sources="logs",
            mark=Mark.WRONG,
            said="net_interface",
            culprits="1",
            phase=None,
            confidence=0.8,
            fired=("OLD001",),
        ),
    ),
    shown={"logs": "an old verdict", "fix": "what was written then"},
    after=AttemptEnd(finished=True, seconds=41.0, exit_code=0),
    live=None,
    patient=None,
    seconds=120.0,
)


def kept(folder: Path) -> Path:
    """What a rehearsal leaves, as far as it is read again."""
    situation = SITUATIONS[NAME]
    (folder / "logs").mkdir(parents=True)
    for name in ("dumps", "stacks"):
        (folder / name).mkdir()
    (folder / "logs" / "merged.log").write_text(LOG, encoding="utf-8")
    shutil.copytree(SCRIPTS / situation.job, folder / "job")
    Truth(
        drill=NAME,
        cause=situation.cause.value,
        culprits=tuple(situation.culprits),
        accept=(situation.cause.value,),
        must_not=(),
        phase=None,
        at=None,
        world_size=2,
        finishes=False,
    ).write(folder)
    OLD.write(folder)
    return folder


def test_verdicts_and_page_are_made_again_and_the_runs_stay(tmp_path: Path) -> None:
    folder = kept(tmp_path / "rehearsal")
    words = ["rehearse", NAME, "--reuse", "--out", str(folder), "--pages", str(tmp_path / "pages")]
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 0, done.output
    found = read_rehearsal(folder)
    assert found is not None
    assert (found.judged[0].said, found.judged[0].mark) == ("checkpoint_slow", Mark.RIGHT)
    assert found.shown["logs"] != OLD.shown["logs"]
    assert found.shown["fix"] == OLD.shown["fix"]
    assert replace(found, judged=OLD.judged, shown=OLD.shown) == OLD
    text = (tmp_path / "pages" / f"{NAME}.md").read_text(encoding="utf-8")
    assert "checkpoint_slow" in text
    assert "ddp_timeout" in text
