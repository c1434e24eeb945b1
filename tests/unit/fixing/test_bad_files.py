"""`unhang fix --apply` on files that it must not touch: one sentence, and every byte stays."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from unhang.commands import invoke
from unhang.fixing import saving
from unhang.fixing.config_file import ConfigFile

Apply = Callable[..., tuple[int, str, str]]
GOOD = b"output_dir: x\nper_device_train_batch_size: 8\n"
LAUGHS = b"output_dir: x\na0: &a0 [1, 2]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 12)
)
VERDICT = {
    "schema": "unhang.diagnosis/1",
    "fixes": [
        {
            "title": "Raise the timeout",
            "kind": "cure",
            "framework": "trl",
            "where": "yaml",
            "patch": "ddp_timeout: 7200",
            "reaches": "default_pg",
            "risk": "none",
            "verify": "it runs",
        }
    ],
}


@pytest.fixture
def verdict(tmp_path: Path) -> str:
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(VERDICT), encoding="utf-8")
    return str(path)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


@pytest.fixture
def apply(capsys: pytest.CaptureFixture[str], verdict: str) -> Apply:
    """Run the command in this process: exit code, standard output, standard error."""

    def run_it(path: Path, verdict: str = verdict) -> tuple[int, str, str]:
        code = invoke(["fix", str(path), "--from", verdict, "--apply"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_it


def refused(apply: Apply, folder: Path, *arguments: object) -> str:
    """The one sentence; what lies in the folder is as it was."""
    before = {p.name: (p.lstat().st_mtime_ns, p.lstat().st_mode) for p in folder.iterdir()}
    content = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    code, out, err = apply(*arguments)
    assert (code, out) == (2, ""), err
    (line,) = err.splitlines()
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == content
    after = {p.name: (p.lstat().st_mtime_ns, p.lstat().st_mode) for p in folder.iterdir()}
    assert after == before
    return line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"output_dir: [x\nseed: 1\n", "does not parse: line"),
        (b"output_dir: x\nfsdp_config:\n\tlimit: 1\n", "does not parse: line 3"),
        (b"output_dir: x\noutput_dir: y\nddp_timeout: 1\nddp_timeout: 2\n", "appears 2 times"),
        (b"a: 1\n---\noutput_dir: x\n", "2 documents"),
        (b"", "does not look like"),
        (b"- output_dir\n", "does not look like"),
        (b"output_dir: " + b"[" * 5000 + b"\n", "nested too deeply"),
        (LAUGHS, "repeats too much"),
        (b"output_dir: &a [*a]\n", "nested too deeply"),
        (b"output_dir: x\x00y\n", "a NUL byte"),
        (GOOD.replace(b"\n", b"\r"), "a carriage return that ends no line"),
        ("output_dir: x\n".encode("utf-16"), "not UTF-8"),
        (GOOD + b"# " + b"x" * 10_000_000 + b"\n", "too large"),
    ],
    ids=[
        *("broken", "tabs", "twice", "documents", "empty", "list", "deep", "laughs", "loop"),
        *("nul", "mac", "utf16", "10MB"),
    ],
)
def test_a_yaml_that_is_none(job: Path, apply: Apply, content: bytes, why: str) -> None:
    path = job / "train.yaml"
    path.write_bytes(content)
    assert why in refused(apply, job, path)


OTHERS = {
    "ds.json": b'{"zero_optimization": {"stage": 3}}\n',
    "run.sh": b"torchrun train.py --seed 1\n",
    "c.toml": b"[training]\nsteps = 1\n",
    "Dockerfile": b"FROM x\nCMD torchrun train.py\n",
    "nccl.conf": b"NCCL_DEBUG=WARN\n",
    "train.py": b"import torch\n",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    ("tail", "why"),
    [
        (b"\x00", "a NUL byte"),
        (b"# a\r# b\n", "a carriage return"),
        (b"# \xe9\n", "not UTF-8"),
        (b"# " + b"x" * 10_000_000, "too large"),
    ],
    ids=["nul", "mac", "latin", "10MB"],
)
def test_files_of_other_kinds(job: Path, apply: Apply, name: str, tail: bytes, why: str) -> None:
    path = job / name
    path.write_bytes(OTHERS[name] + tail)
    assert why in refused(apply, job, path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ds.json", b'{"zero_optimization": {"stage": 3}\n'),
        ("run.sh", b'torchrun train.py "--seed 1\n'),
        ("c.toml", b"[training\nsteps = 1\n"),
        ("train.py", b"import torch\ndef f(:\n"),
    ],
)
def test_files_of_other_kinds_that_do_not_parse(
    job: Path, apply: Apply, name: str, text: bytes
) -> None:
    path = job / name
    path.write_bytes(text)
    assert "cannot take any fix" in refused(apply, job, path)


def test_a_file_that_is_not_to_be_written(job: Path, apply: Apply) -> None:
    path = job / "train.yaml"
    path.write_bytes(GOOD)
    path.chmod(0o444)
    assert "write-protected; nothing was written" in refused(apply, job, path)


def test_links_that_lead_elsewhere_or_nowhere(job: Path, apply: Apply) -> None:
    (job.parent / "other.yaml").write_bytes(GOOD)
    for name, target, why in (
        ("out.yaml", "../other.yaml", "outside of its folder"),
        ("gone.yaml", "nothing.yaml", "cannot read"),
        ("self.yaml", "self.yaml", "cannot read"),
    ):
        (job / name).symlink_to(target)
        assert why in refused(apply, job, job / name)
    assert (job.parent / "other.yaml").read_bytes() == GOOD


def test_a_pipe_is_not_waited_for(job: Path, apply: Apply) -> None:
    os.mkfifo(job / "train.yaml")
    assert "not a regular file" in refused(apply, job, job / "train.yaml")


def test_a_file_that_changes_meanwhile(
    job: Path, apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = job / "train.yaml"
    path.write_bytes(GOOD)
    check = saving._check

    def meanwhile(target: ConfigFile, status: os.stat_result) -> None:
        check(target, status)
        path.write_bytes(GOOD + b"seed: 1\n")

    monkeypatch.setattr(saving, "_check", meanwhile)
    code, _, err = apply(path)
    assert (code, err.count("\n")) == (2, 1)
    assert "changed while it was read; nothing was written" in err
    assert path.read_bytes() == GOOD + b"seed: 1\n"
    assert [p.name for p in job.iterdir()] == ["train.yaml"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_line_ends_and_byte_order_mark_stay(
    job: Path, apply: Apply, mark: bytes, end: bytes
) -> None:
    path = job / "train.yaml"
    before = mark + GOOD.replace(b"\n", end)
    path.write_bytes(before)
    code, _, err = apply(path)
    assert code == 0, err
    assert path.read_bytes() == before + b"ddp_timeout: 7200" + end
    assert (job / "train.yaml.bak").read_bytes() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[]", "not a verdict"),
        ('{"schema": "unhang.lint/1"}', "not a verdict"),
        ('{"schema": "unhang.diagnosis/1", "fixes": [{"patch": 3}]}', "lacks title"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_verdict_that_is_none(job: Path, apply: Apply, text: str, why: str) -> None:
    path = job / "train.yaml"
    path.write_bytes(GOOD)
    (job.parent / "bad.json").write_text(text, encoding="utf-8")
    assert why in refused(apply, job, path, str(job.parent / "bad.json"))
