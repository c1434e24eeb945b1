"""A capture of real processes: what is in the bundle, what is not, and what a judge makes of it."""

import json
import os
import signal
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

import unhang
from support.source_contexts import READY, started
from unhang.capturing import Deadline, capture
from unhang.capturing.processes import JobProcess
from unhang.capturing.specs import SPECS
from unhang.errors import UsageError
from unhang.model.capture import MANIFEST, CaptureResult, Fate
from unhang.model.diagnosis import Outcome
from unhang.reporters.capture import render_capture
from unhang.reporters.style import Style

pytestmark = pytest.mark.process

SECRET = "correct-horse-battery-staple"
PROGRAM = f"""
print("step 1, logged in with {SECRET}")
{READY}
def prepare_batches():
    time.sleep(120)
prepare_batches()
"""


@pytest.fixture(scope="module")
def rank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobProcess]:
    log = tmp_path_factory.mktemp("job") / "train.log"
    with (
        log.open("wb") as file,
        started(
            PROGRAM,
            stdout=file.fileno(),
            LOCAL_RANK="3",
            WORLD_SIZE="8",
            HF_TOKEN=SECRET,
            NCCL_IB_DISABLE="1",
            MASTER_ADDR="gpu-07.cluster.example",
            USER="alice",
        ) as process,
    ):
        yield process


@pytest.fixture(scope="module")
def result(rank: JobProcess, tmp_path_factory: pytest.TempPathFactory) -> CaptureResult:
    begun = time.monotonic()
    captured = capture(pids=[rank.pid], out=tmp_path_factory.mktemp("out") / "b.unhang.tar.zst")
    assert time.monotonic() - begun < 40
    return captured


def members(result: CaptureResult) -> dict[str, bytes]:
    found = {}
    with result.path.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file)
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for info in tar:
                content = tar.extractfile(info)
                assert content is not None
                found[info.name] = content.read()
    return found


def fates(result: CaptureResult) -> dict[tuple[str, str], Fate]:
    return {(e.source, e.subject): e.fate for e in result.manifest.entries}


def test_a_bundle_holds_what_its_manifest_says(result: CaptureResult) -> None:
    files = members(result)
    assert next(iter(files)) == MANIFEST
    told = json.loads(files[MANIFEST])
    assert told["schema"] == "unhang.capture/1"
    listed = {f["path"]: f["bytes"] for source in told["sources"] for f in source["files"]}
    assert {name: len(data) for name, data in files.items() if name != MANIFEST} == listed
    assert all(name.startswith(f"host={told['host']}/") for name in listed)
    assert (result.path.stat().st_mode & 0o777, result.size_bytes) == (
        0o600,
        result.path.stat().st_size,
    )
    assert all(source["outcome"] == "taken" or source["why"] for source in told["sources"])
    subject = ("environment", "rank 3")
    assert fates(result)[subject] is Fate.TAKEN
    assert fates(result)["proc", "rank 3"] in {Fate.TAKEN, Fate.PARTLY}
    assert fates(result)["output", "rank 3"] is Fate.TAKEN


def test_no_secret_leaves_the_node(result: CaptureResult) -> None:
    files = members(result)
    assert [name for name, data in files.items() if SECRET.encode() in data] == []
    environment = files[f"host={result.manifest.host}/rank_3/environment.txt"].decode()
    assert environment.startswith("RANK=3 LOCAL_RANK=3 WORLD_SIZE=8\n")
    assert "HF_TOKEN=[redacted variable]\n" in environment
    assert "NCCL_IB_DISABLE=1\n" in environment
    log = files[f"host={result.manifest.host}/rank_3/stdout.log"].decode()
    assert log == "step 1, logged in with [redacted known secret]\n"
    assert result.manifest.redacted["variable"] >= 1
    assert result.manifest.redacted["known secret"] >= 1


def test_names_go_when_asked(rank: JobProcess, tmp_path: Path) -> None:
    result = capture(pids=[rank.pid], out=tmp_path / "b.unhang.tar.zst", redact_hosts=True)
    whole = b"\n".join((*members(result).values(), *map(str.encode, members(result))))
    for name in (b"gpu-07", b"alice", str(tmp_path).encode(), b"pytest-of"):
        assert name not in whole
    assert result.manifest.host.startswith("node-")
    assert result.manifest.names_replaced


def test_a_job_that_is_well_is_not_blamed(result: CaptureResult) -> None:
    """Neither the environment, nor the kernel log, nor the manifest accuses anybody."""
    verdict = unhang.diagnose(str(result.path))
    assert verdict.outcome in {Outcome.UNDETERMINED, Outcome.HEALTHY}
    assert verdict.culprits == frozenset()
    assert verdict.coverage.ranks_seen == {3}
    assert verdict.coverage.world_size == 8
    assert [p for p in verdict.problems if "no logs" not in p.message] == []


def test_the_limit_holds_and_the_rest_is_said(rank: JobProcess, tmp_path: Path) -> None:
    begun = time.monotonic()
    result = capture(pids=[rank.pid], out=tmp_path / "b.unhang.tar.zst", limit_s=0.05)
    assert time.monotonic() - begun < 20
    late = [e for e in result.manifest.entries if e.fate is Fate.TIMED_OUT]
    assert late
    assert all(entry.why is not None for entry in late)


def test_a_bundle_in_a_folder_is_named_after_time_and_host(
    rank: JobProcess, tmp_path: Path
) -> None:
    result = capture(pids=[rank.pid], out=tmp_path, limit_s=1.0)
    assert result.path.parent == tmp_path
    assert result.path.name.startswith("unhang-20")
    assert result.path.name.endswith(f"-{result.manifest.host}.unhang.tar.zst")


def test_a_folder_that_cannot_be_is_refused(rank: JobProcess) -> None:
    with pytest.raises(UsageError, match="cannot write /dev/full/b: "):
        capture(pids=[rank.pid], out="/dev/full/b", limit_s=1.0)


def test_a_disk_without_room_leaves_no_half_bundle(
    rank: JobProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UsageError, match="no space left on device"):
        capture(pids=[rank.pid], out=tmp_path / "b", limit_s=1.0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({}, "nothing to capture"),
        ({"pids": [4194999]}, "there is no process 4194999"),
        ({"run_folder": "/no/such/run"}, "there is no such folder"),
        ({"pids": [1], "signal": "KILL"}, "the signal KILL is not used"),
    ],
)
def test_what_cannot_be_captured_is_refused(wishes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        capture(**wishes)  # type: ignore[arg-type]


def test_the_command_says_what_it_took(result: CaptureResult) -> None:
    for language, words in (("en", "Wrote "), ("zh", "已写入 ")):
        text = render_capture(result, "terminal", Style(language=language))
        assert text.startswith(words)
        assert f"unhang diagnose {result.path}" in text
        assert "capture." not in text
    told = json.loads(render_capture(result, "json"))
    assert (told["path"], told["size_bytes"]) == (str(result.path), result.size_bytes)
    assert {p["rank"] for p in told["processes"]} == {3}


def test_a_job_may_end_before_its_capture_does(tmp_path: Path) -> None:
    """The release ends the process; what needed it is there, what did not is asked afterwards."""
    with started(f"{READY}time.sleep(120)") as process:
        deadline = Deadline(release=lambda: os.kill(process.pid, signal.SIGKILL))
        begun = time.monotonic()
        result = capture(pids=[process.pid], out=tmp_path / "b.unhang.tar.zst", deadline=deadline)
        assert time.monotonic() - begun < 30
    told = fates(result)
    assert told["environment", "rank 3"] is told["files", "rank 3"] is Fate.TAKEN
    assert told["proc", "rank 3"] in {Fate.TAKEN, Fate.PARTLY}
    lasting = {spec.name for spec in SPECS if spec.lasting}
    assert {"kernel-log", "cpus"} <= lasting
    assert lasting <= {source for source, _ in told}
    assert Fate.TIMED_OUT not in {told[key] for key in told if key[0] in lasting}
