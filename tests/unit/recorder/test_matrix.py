"""Over a matrix of made-up jobs and of jobs that Gloo ran: the guilty are named, no other ever."""

import json
import random
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import unhang
from support.recorder_forms import FORMS as REWRITTEN
from support.recorder_matrix import PROGRAMS, Case, make, some
from unhang.model.causes import Cause
from unhang.model.diagnosis import Diagnosis, Outcome

GLOO = Path(__file__).resolve().parents[2] / "data" / "recorder" / "gloo.tar.xz"

# One of these stays away while it, or another, is in a receive that Gloo does not record.
UNRECORDED = ("pipeline_stall", "p2p_mismatch")


def judge(case: Case, folder: Path) -> tuple[Diagnosis, frozenset[int], frozenset[int]]:
    folder.mkdir()
    made = make(case, folder)
    diagnosis = unhang.diagnose(str(folder))
    named = frozenset(int(rank) for rank in diagnosis.culprits)
    assert named <= made.culprits | made.lost, f"{case}: an innocent rank is named"
    if not made.culprits:
        assert diagnosis.outcome not in (Outcome.CAUSE, Outcome.LOCATED), case
    return diagnosis, named, made.culprits


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_made_up_jobs(tmp_path: Path, program: str) -> None:
    for index, case in enumerate(some(program, seed=1)):
        if case.is_possible:
            _, named, culprits = judge(case, tmp_path / str(index))
            assert named == culprits or not case.is_decided or case.loss != "", case


@pytest.mark.parametrize("seed", range(4))
def test_a_snapshot_of_a_job_that_runs_accuses_nobody(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    for index, program in enumerate(sorted(PROGRAMS)):
        form = random_.choice(["2.10", "2.10 json", "2.9 active", "wrapped", "late marks"])
        case = Case(program, "running", position=f"seed {seed}", form=form)
        judge(replace(case, position="middle"), tmp_path / str(index))


def test_a_send_of_another_size(tmp_path: Path) -> None:
    diagnosis, named, culprits = judge(Case("ring-5", "pair size", "middle"), tmp_path / "ring")
    assert (diagnosis.cause, named) == (Cause.DESYNC, culprits)
    assert "elements" in str(diagnosis.summary.key) or "pair" in diagnosis.summary.key


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gloo")
    with tarfile.open(GLOO) as archive:
        for member in archive.getmembers():
            if member.isfile():
                target = folder / member.name
                target.parent.mkdir(exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                target.write_bytes(content.read())
    return folder


def sets(recorded: Path) -> Iterator[tuple[Path, frozenset[int]]]:
    for folder in sorted(recorded.iterdir()):
        truth = json.loads((folder / "truth.json").read_text())
        yield folder, frozenset(truth["culprits"])


def decides(folder: Path, form: str) -> bool:
    """Whether the dumps can tell; the oldest ones hold neither types nor names of groups."""
    old = "1.4" in form or "list" in form
    typed = folder.name.startswith("mismatch_dtype")
    grouped = folder.name.startswith("subgroups")
    # Gloo lists no members, and each rank's first call in one of these groups is its last.
    unknown = folder.name.startswith("orders")
    # Nothing tells that there is a rank 3 when it left no dump and no list of members names it.
    last = not (folder / "trace_3").exists() and ("list" in form or grouped)
    return not (old and (typed or grouped)) and not unknown and not last


@pytest.mark.parametrize("form", sorted(REWRITTEN))
def test_jobs_that_gloo_ran(recorded: Path, tmp_path: Path, form: str) -> None:
    missed = []
    for folder, culprits in sets(recorded):
        if folder.name.startswith(UNRECORDED) or not decides(folder, form):
            continue
        diagnosis = unhang.diagnose(str(REWRITTEN[form](folder, tmp_path / folder.name)))
        named = frozenset(int(rank) for rank in diagnosis.culprits)
        assert named <= culprits, f"{folder.name}: an innocent rank is named"
        if named != culprits:
            missed.append(folder.name)
    assert missed == []


def test_one_dump_less_names_at_most_the_rank_without_it(recorded: Path, tmp_path: Path) -> None:
    random_ = random.Random(0)
    for folder, culprits in sets(recorded):
        if folder.name.startswith(UNRECORDED):
            continue
        rank = random_.choice(sorted(set(range(4)) - culprits))
        copy = REWRITTEN["json"](folder, tmp_path / folder.name)
        (copy / f"json_{rank}.json").unlink(missing_ok=True)
        named = unhang.diagnose(str(copy)).culprits if list(copy.iterdir()) else frozenset()
        assert {int(r) for r in named} <= culprits | {rank}, folder.name


def test_the_order_of_the_files_does_not_matter(recorded: Path, tmp_path: Path) -> None:
    for folder, culprits in sets(recorded):
        if folder.name.startswith(("mismatch_op", "missing_one", "uneven")):
            copy = tmp_path / folder.name
            copy.mkdir()
            for file in folder.glob("trace_*"):
                rank = int(file.name.rpartition("_")[2])
                shutil.copy(file, copy / f"h{(5 * rank + 3) % 7}_nccl_trace_rank_{rank}")
            assert unhang.diagnose(str(copy)).culprits == culprits, folder.name
