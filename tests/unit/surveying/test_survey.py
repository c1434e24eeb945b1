"""From folders to a summary: what is kept, what a broken job costs, and how it reads."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import unhang
from support.chat import chat
from unhang.commands import invoke
from unhang.engine.gather import Gathered
from unhang.engine.shards import Engine
from unhang.judging import judge_gathered
from unhang.model.codec import document
from unhang.model.diagnosis import Diagnosis
from unhang.model.fleet import Fleet, JobRecord
from unhang.model.ids import Rank
from unhang.model.measurements import SCHEMA, RankSetting, RunMeasurements
from unhang.surveying import find, judging, survey
from unhang.surveying.sacct import read_accounting, told_by

OOM = (
    "2026-11-0{day} 10:00:00 {host} [rank{rank}]: torch.OutOfMemoryError: CUDA out of memory."
    " Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is"
    " free.\n"
)
FINE = "2026-11-02 10:00:00 step 1 loss 2.5\n2026-11-02 12:00:00 training finished\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    root = tmp_path / "logs"
    root.mkdir()
    for number in range(100, 106):
        text = OOM.format(day=1, host="node1", rank=1) if number < 103 else FINE
        (root / f"slurm-{number}.out").write_text(text)
    return root


def look(root: Path, **more: object) -> Fleet:
    options = {"store": str(root.parent / "store"), "processes": 1, **more}
    return unhang.fleet(str(root), **options)  # type: ignore[arg-type]


def test_an_unchanged_job_is_not_read_again(logs: Path) -> None:
    first = look(logs)
    assert (len(first.jobs), first.judged) == (6, 6)
    assert [c.cause for c in first.causes] == ["gpu_oom"]
    (logs / "slurm-104.out").write_text(FINE + "one more line\n")
    (logs / "slurm-105.out").unlink()
    second = look(logs)
    assert (len(second.jobs), second.judged) == (5, 1)
    assert [c.jobs for c in second.causes] == [3]
    assert look(logs).judged == 0


def test_a_stop_loses_nothing_that_was_judged(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def stops(gathered: Gathered) -> Diagnosis:
        nonlocal count
        count += 1
        if count > 4:
            raise KeyboardInterrupt
        return judge_gathered(gathered)

    store = logs.parent / "store"
    with pytest.raises(KeyboardInterrupt):
        survey([str(logs)], stops, store=store)
    assert look(logs).judged == 2


def test_the_store_is_its_owner_s(logs: Path) -> None:
    look(logs)
    store = logs.parent / "store"
    assert store.stat().st_mode & 0o777 == 0o700
    assert (store / "jobs.jsonl").stat().st_mode & 0o777 == 0o600
    (store / "jobs.jsonl").chmod(0o640)
    look(logs)
    assert (store / "jobs.jsonl").stat().st_mode & 0o777 == 0o640, "what its owner opened"


def test_a_broken_store_costs_a_reading(logs: Path) -> None:
    look(logs)
    path = logs.parent / "store/jobs.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(["{", "[]", '{"name": 1}', lines[0][:-9], *lines[1:]]) + "\n")
    assert look(logs).judged == 1


def test_what_goes_wrong_with_a_job_costs_only_that(logs: Path) -> None:
    def fails(gathered: Gathered) -> Diagnosis:
        if gathered.artifacts[0].name.endswith("101.out"):
            raise RuntimeError("boom")
        return judge_gathered(gathered)

    found = survey([str(logs)], fails, store=logs.parent / "s")
    assert [job.error for job in found.jobs if job.error] == ["RuntimeError: boom"]
    assert [c.jobs for c in found.causes] == [2]


def killed_at_102(gathered: Gathered) -> Diagnosis:
    if gathered.artifacts[0].name.endswith("102.out"):
        os.kill(os.getpid(), signal.SIGKILL)
    return judge_gathered(gathered)


@pytest.mark.process
def test_a_killed_process_costs_only_its_job(logs: Path) -> None:
    jobs, _ = find.find_jobs([str(logs)])
    records = list(judging.judge_jobs(jobs, killed_at_102, Engine(2)))
    assert sorted(record.name for record in records) == [str(n) for n in range(100, 106)]
    broken = [record for record in records if record.error]
    assert [(record.name, "was killed" in str(record.error)) for record in broken] == [
        ("102", True)
    ]


@pytest.mark.process
def test_in_several_processes_as_in_one(logs: Path) -> None:
    one = look(logs, store=str(logs.parent / "one"))
    two = look(logs, store=str(logs.parent / "two"), processes=2)
    assert one == two


def test_the_scheduler_knows_hosts_and_hours(tmp_path: Path) -> None:
    table = tmp_path / "sacct.txt"
    table.write_text(
        "JobID|NodeList|Start|Elapsed|AllocTRES\n"
        "100|node[01-03]|2026-11-01T10:00:00|1-02:30:00|billing=8,gres/gpu=24,node=3\n"
        "100.batch|node01|||\n"
    )
    record = JobRecord(name="a/100", paths=(), fingerprint="", outcome="healthy")
    told = told_by(read_accounting(str(table)), record)
    assert told.hosts == ("node01", "node02", "node03")
    assert (told.hours, told.world_size, told.gpu_hours) == (26.5, 24, 636.0)
    assert (
        told_by(
            read_accounting(str(table)),
            JobRecord(name="7", paths=(), fingerprint="", outcome="healthy"),
        ).hosts
        == ()
    )
    table.write_text("Job\n1\n")
    with pytest.raises(unhang.UsageError, match="has no column JobID"):
        read_accounting(str(table))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("form", ["terminal", "markdown", "json"])
def test_the_command(
    logs: Path, lang: str, form: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for number in range(200, 230):
        text = OOM.format(day=3, host=f"node{number}", rank=0) if number % 9 == 0 else FINE
        (logs / f"slurm-{number}.out").write_text(text)
    exclude = tmp_path / "bad.txt"
    arguments = ["--store", str(tmp_path / "s"), "--processes", "1", "--lang", lang]
    arguments += ["--exclude-file", str(exclude), "--format", form]
    assert invoke(["fleet", str(logs), *arguments]) == 0
    text = capsys.readouterr().out
    assert exclude.read_text() == ""
    if form == "json":
        data = json.loads(text)
        assert data["schema"] == "unhang.fleet/1"
        assert len(data["jobs"]) == 36
    else:
        assert ("36 个作业" if lang == "zh" else "36 jobs") in text
        assert "gpu_oom" in text
    assert invoke(["fleet", str(logs / "gone")]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize(
    ("lang", "title"), [("en", "unhang: jobs failed in "), ("zh", "中有作业失败")]
)
def test_people_are_told_new_failures_once_and_no_secret(
    logs: Path, lang: str, title: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Three jobs have failed, then nothing, then two more, one of them with a key in its words."""
    key = "hf_" + "Qw7Zk3Tn9Lm2Xc5Vb8Rd4Gh6Js1Fp0YaEu"
    words = ["fleet", str(logs), "--store", str(tmp_path / "s"), "--processes", "1", "--lang", lang]
    with chat() as server:
        monkeypatch.setenv("UNHANG_NOTIFY", f"{server.url}/hook")
        assert invoke(words) == invoke(words) == 0
        (logs / "slurm-107.out").write_text(OOM.format(day=4, host="node7", rank=5))
        raised = f"[rank2]: Traceback (most recent call last):\n[rank2]: ValueError: token {key}\n"
        (logs / "slurm-108.out").write_text(raised)
        assert invoke(words) == 0
    first, second = (body for _, _, body in server.heard)
    assert title in str(first["title"])
    assert (first["schema"], first["kind"]) == ("unhang.alert/1", "jobs_failed")
    names = [
        [str(line)[:3] for line in told["failures"]]  # type: ignore[attr-defined]
        for told in (first, second)
    ]
    assert names == [["100", "101", "102"], ["107", "108"]]
    assert "node7" in str(second["failures"])
    assert "ValueError" in str(second["text"])
    assert key not in json.dumps(second)


@pytest.mark.process
def test_a_message_that_does_not_arrive_is_told_and_harms_nothing(
    logs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    store = str(tmp_path / "s")
    with chat() as server:
        server.replies.append((404, "no such hook", {}))
        words = ["fleet", str(logs), "--store", store, "--lang", "en", "--notify", server.url]
        assert invoke(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("6 jobs, 3 failed")
    assert "webhook (127.0.0.1) could not be notified (HTTP 404" in shown.err
    assert invoke(["fleet", str(logs), "--store", store, "--notify", "nowhere"]) == 2


@pytest.mark.process  # reads with DuckDB, which forks
def test_rows_as_parquet(logs: Path, tmp_path: Path) -> None:
    import duckdb

    to = tmp_path / "jobs.parquet"
    store = str(tmp_path / "s")
    assert invoke(["fleet", str(logs), "--store", store, "--parquet", str(to)]) == 0
    rows = duckdb.sql(f"select cause, count(*) from '{to}' group by all order by all")
    assert rows is not None
    assert rows.fetchall() == [("gpu_oom", 3), (None, 3)]


def test_what_a_run_recorded_is_exact(tmp_path: Path) -> None:
    run = tmp_path / "runs/one"
    (run / "output/gn1").mkdir(parents=True)
    (run / "output/gn1/stderr.log").write_text(FINE)
    record = {"started": "2026-11-03T10:00:00+00:00", "ended": "2026-11-03T14:30:00+00:00"}
    (run / "run.json").write_text(json.dumps({"schema": "unhang.run/1", **record}))
    settings = tuple(
        RankSetting(name="NCCL_ALGO", value=value, ranks=frozenset({Rank(rank)}))
        for rank, value in enumerate(("Ring", "Tree"))
    )
    measured = RunMeasurements(
        at_s=2.0, ranks=frozenset({Rank(0), Rank(1)}), world_size=2, settings=settings
    )
    (run / "measured.json").write_text(document(SCHEMA, measured))
    (job,) = look(tmp_path / "runs").jobs
    assert (job.hours, job.world_size, job.gpu_hours) == (4.5, 2, 9.0)
    assert job.settings == {"NCCL_ALGO": ("Ring", "Tree")}
    (run / "run.json").write_text("{")
    (job,) = look(tmp_path / "runs").jobs
    assert (job.hours, job.settings) == (2.0, {})


def test_the_latest_failures_are_told_in_chinese(
    logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["fleet", str(logs), "--store", str(logs.parent / "s"), "--lang", "zh"]
    assert invoke(asked) == 0
    said = capsys.readouterr().out
    assert "显存" in said
    assert "ran out of" not in said
