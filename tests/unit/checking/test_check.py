"""`unhang check` on this host: complete, quick, harmless; its reports; a baseline."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

import unhang
from unhang.capturing import bounded
from unhang.checking.asking import _ask_all, ask
from unhang.checking.baseline import compare_baseline, read_baseline
from unhang.checking.facts import FACTS
from unhang.checking.facts.storage import scratch_of
from unhang.checking.host import Fact, Host, HostRequest, passed
from unhang.checking.job_file import read_job
from unhang.checking.verdict import judged
from unhang.commands import invoke
from unhang.errors import UsageError
from unhang.model.causes import Cause
from unhang.model.codec import decode
from unhang.model.preflight import CheckReport, Stage, Status, Suspect
from unhang.model.provenance import Message
from unhang.model.toml import load
from unhang.reporters.check import FORMS, as_dict, render_check
from unhang.reporters.style import Style


def stage(name: str, status: Status, **values: object) -> Stage:
    message = Message(key="fact.limits")
    return Stage(name=name, status=status, message=message, measured=values, host="gpu-1")


def report(*stages: Stage, **fields: object) -> CheckReport:
    base = CheckReport(hosts=("gpu-1",), verdict=Message(key="check.ok", values={"hosts": 1}),
                       stages=stages)  # fmt: skip
    return judged(replace(base, **fields))  # type: ignore[arg-type]


def facts_of_kernel() -> dict[str, str]:
    """What a check must leave alone: settings, mounts, shared memory, interfaces, swap."""
    read = ("/proc/swaps", "/proc/self/mountinfo", "/proc/sys/net/ipv4/ip_local_port_range",
            "/proc/sys/vm/swappiness", "/proc/sys/kernel/core_pattern")  # fmt: skip
    found = {path: Path(path).read_text() for path in read if Path(path).exists()}
    for folder in ("/dev/shm", "/sys/class/net", "/etc"):
        found[folder] = "\n".join(sorted(path.name for path in Path(folder).iterdir()))
    return found


@pytest.mark.process
def test_every_fact_of_this_host_is_told_in_time_and_nothing_is_changed(tmp_path: Path) -> None:
    before = facts_of_kernel()
    begun = time.monotonic()
    found = unhang.check(checkpoint=tmp_path, ranks=2)
    assert time.monotonic() - begun < 25
    assert {s.name for s in found.stages} == {fact.name for fact in FACTS}
    assert [s.message for s in found.stages if s.message.key == "fact_skip.broken"] == []
    assert facts_of_kernel() == before
    assert list(tmp_path.iterdir()) == []
    for form in FORMS:
        for language in ("en", "zh"):
            assert render_check(found, form, Style(language=language))


def _sleeps(_host: Host) -> Iterator[Stage]:
    time.sleep(60)
    yield passed("limits")


def _raises(_host: Host) -> Iterator[Stage]:
    yield passed("limits")
    raise ValueError("oh")


@pytest.mark.process
def test_a_fact_that_hangs_or_fails_costs_only_itself(capfd: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    facts = (
        Fact(name="swap", look=_sleeps, limit_s=0.5),
        Fact(name="memory", look=_raises),
        Fact(name="ports", look=lambda _: iter([passed("limits")])),
    )
    _ask_all(facts, Host())
    assert time.monotonic() - begun < 10
    told = {s["name"]: s for s in map(json.loads, capfd.readouterr().out.splitlines())}
    assert told["swap"]["message"]["key"] == "fact.unanswered"
    assert told["memory"]["message"]["key"] == "fact_skip.broken"
    assert told["ports"]["status"] == "pass"


@pytest.mark.process
@pytest.mark.parametrize("stopped", [False, True], ids=["its time was up", "the user stopped it"])
def test_what_an_ended_measurement_has_left_is_removed(
    stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkpoint-8").mkdir()

    def ended(words: Sequence[str], **limits: float) -> bounded.Ran:
        if words[0] != sys.executable:
            return bounded.run(words, **limits)  # type: ignore[arg-type]
        left = scratch_of(decode(HostRequest, json.loads(words[-1])))
        assert left is not None
        left.mkdir()
        (left / "0").write_bytes(b"unhang")
        if stopped:
            raise KeyboardInterrupt
        return bounded.Ran(code=None, out=b"", err="", timed_out=True)

    monkeypatch.setattr("unhang.checking.asking.run", ended)
    with pytest.raises(KeyboardInterrupt) if stopped else nullcontext():
        ask(HostRequest(checkpoint=str(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-8"]


@pytest.mark.process
def test_what_the_job_failed_of_is_looked_at_first() -> None:
    stages = ask(HostRequest(first=("storage", "swap")))
    assert [s.name for s in stages][:2] == ["swap", "storage"]


def test_causes_lead_to_facts_that_exist() -> None:
    table = load("unhang.checking", "data/causes.toml")
    assert table.keys() <= {cause.value for cause in Cause}
    assert {name for names in table.values() for name in names} <= {fact.name for fact in FACTS}


def test_the_limit_of_a_configuration(tmp_path: Path) -> None:
    config = tmp_path / "sft.yaml"
    config.write_text(f"ddp_timeout: 1800\noutput_dir: {tmp_path}/not/yet\n")
    job = read_job(config)
    assert (job.timeout_s, job.checkpoint) == (1800, str(tmp_path))
    assert job.basis.endswith("ddp_timeout")


def test_a_verdict_leads_to_its_facts(tmp_path: Path) -> None:
    verdict = tmp_path / "verdict.json"
    call = {"op": "ALLGATHER", "timeout_ms": 900_000}
    told = {"schema": "unhang.diagnosis/1", "cause": "shm_small", "call": call}
    verdict.write_text(json.dumps(told))
    job = read_job(verdict)
    assert (job.timeout_s, job.first[0]) == (900, "shm")


@pytest.mark.process
def test_a_save_that_does_not_fit_into_the_limit_is_told(tmp_path: Path) -> None:
    config = tmp_path / "sft.yaml"
    config.write_text(
        f"model_name_or_path: llama-3-70b\noutput_dir: {tmp_path}\nddp_timeout: 5\n"
        "num_processes: 8\nzero_stage: 0\nper_device_train_batch_size: 1\n"
    )
    found = unhang.check(job=config)
    (told,) = [s for s in found.stages if s.message.key == "fact.save_too_long"]
    assert told.status is Status.FAIL
    text = render_check(found, "terminal")
    assert "ran for 5000 milliseconds" in text


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "unhang.plan/1"}'])
def test_what_is_no_baseline_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="baseline"):
        read_baseline(path)


def test_losses_since_the_baseline() -> None:
    before = json.loads(
        render_check(
            report(
                stage("storage", Status.PASS, one_writer=1_000, all_writers=1_000, free_bytes=9),
                stage("releases", Status.PASS, torch="2.9.0", nccl=None),
            ),
            "json",
        )
    )
    now = report(
        stage("storage", Status.PASS, one_writer=600, all_writers=900, free_bytes=1),
        stage("releases", Status.PASS, torch="2.9.1", nccl=None),
    )
    added = compare_baseline(now, before).stages[2:]
    assert [(s.name, dict(s.measured)) for s in added] == [
        ("storage", {"one_writer": 600}),
        ("releases", {"torch": "2.9.1"}),
    ]


@pytest.mark.parametrize(
    ("links", "hosts", "out"),
    [
        ([("a", "b")], [], ("a",)),
        ([("a", "b"), ("c", "b")], [], ("b",)),
        ([("a", "b")], ["b"], ("b",)),
        ([], ["z"], ("z",)),
    ],
)
def test_as_few_hosts_as_possible_are_left_out(
    links: list[tuple[str, str]], hosts: list[str], out: tuple[str, ...]
) -> None:
    why = Message(key="fact.limits")
    suspects = [Suspect(stage="pairs", why=why, link=link) for link in links]
    suspects += [Suspect(stage="pairs", why=why, host=host) for host in hosts]
    suspects.append(Suspect(stage="equal", why=why, host="w", status=Status.WARN))
    assert report(suspects=tuple(suspects)).excluded == out


def test_the_contract() -> None:
    data = as_dict(report(stage("swap", Status.FAIL)))
    assert data.keys() >= {"schema", "ok", "stages", "suspects"}
    (told,) = data["stages"]  # type: ignore[misc]
    wanted = {"name", "status", "ranks", "measured", "expected", "message"}
    assert told.keys() >= wanted  # type: ignore[has-type]
    assert (data["schema"], data["ok"], data["status"]) == ("unhang.check/1", False, "fail")


def test_hostile_text_does_nothing() -> None:
    message = Message(
        key="fact.nic_slow", values={"who": "\x1b[2J<script>", "name": "x", "mbit": 1}
    )
    found = report(Stage(name="nics", status=Status.WARN, message=message, host="\x1b]0;x\x07"))
    for form in FORMS:
        text = render_check(found, form)
        assert "\x1b" not in text
        assert form != "html" or text.count("<script>") == 1, "only the page's own"


@pytest.mark.process
@pytest.mark.parametrize(
    ("status", "code"),
    [(Status.PASS, 0), (Status.WARN, 1), (Status.FAIL, 2), (Status.SKIP, 3)],
)
def test_exit_codes_of_nagios(
    status: Status,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("unhang.checking.check", lambda **_: report(stage("swap", status)))
    assert invoke(("check", "--nagios")) == code
    out = capsys.readouterr().out
    assert out.startswith(f"CHECK {status.value.upper()} | ")
    assert out.count("\n") == 1
    assert invoke(("check", "--format", "json")) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--checkpoint", "/nowhere"), "is not a folder"),
        (("--ranks", "0"), "expected at least 1"),
        (("--for", "/nowhere.yaml"), "cannot be read"),
        (("--for", "/etc/hostname"), "it has no settings"),
        (("--for", shutil.which("true")), "binary data"),
        (("--ray", "127.0.0.1:9"), "no Ray cluster answers at 127.0.0.1:9: "),
    ],
)
def test_refusals_are_one_sentence(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(("check", *words)) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.process
def test_no_torch_is_imported() -> None:
    program = "import sys, unhang.checking; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_plan_takes_what_a_check_measured(tmp_path: Path) -> None:
    path = tmp_path / "check.json"
    stages = (
        stage("storage", Status.PASS, one_writer=500_000_000, all_writers=2_000_000_000),
        stage("storage", Status.WARN, one_writer=100_000_000, all_writers=3_000_000_000),
        stage("memory", Status.PASS, total_bytes=1 << 40),
    )
    path.write_text(render_check(report(*stages), "json"))
    planned = unhang.plan("7B", sources=[str(path)], world=8)
    told = unhang.plan("7B", world=8, write_speed="100MB/s", write_speed_total="2GB/s")
    assert planned.saves == told.saves
    assert planned.host.available_bytes == 1 << 40
    path.write_text(render_check(report(), "json"))
    with pytest.raises(UsageError, match="measured neither"):
        unhang.plan("7B", sources=[str(path)])
