"""What the commands print in Chinese about real jobs: of some cases, or of all of them.

`make chinese` asks about every case.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.chinese import english, page_text, printed_by, unquoted, unwrapped
from unhang.commands import invoke

ROOT = Path(__file__).parents[2]
CASES = sorted((ROOT / "tests" / "cases").glob("*/input"))
DEMO = ROOT / "tests" / "cases" / "demo" / "input"
PSEUDONYM = re.compile(r"\s*\b(?:node|host|user)-$")
"""Of a name in a quoted line: digits follow it."""
CHANGED = re.compile(r"^[+-].*$|^    from \S+ import .*$", re.MULTILINE)
"""Lines of a difference, and imports of a patch to be put in place by hand."""
EACH = 1 if os.environ.get("UNHANG_ALL_CASES") else 30
JOB = {
    "train.yaml": "output_dir: x\nper_device_train_batch_size: 8\nddp_timeout: 1800\n",
    "train.sh": "#!/bin/bash\nexport NCCL_TIMEOUT=3600\ntorchrun --nproc-per-node 4 train.py\n",
    "train.py": 'import torch.distributed as dist\ndist.init_process_group("nccl")\n',
    "pod.yaml": "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: b\n",
}


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNHANG_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "2000")
    monkeypatch.chdir(tmp_path)


def foreign(text: str, printed: str) -> list[str]:
    """English sentences in what a command printed, which the job did not print before."""
    shown = CHANGED.sub("", unquoted(text))
    parts = (part for line in shown.split("\n") for part in line.split("  "))
    found = (PSEUDONYM.sub("", run) for part in parts for run in english(part))
    return [run for run in found if run not in printed]


@pytest.mark.parametrize("case", CASES[::EACH], ids=lambda path: path.parent.name)
def test_of_a_case(case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in JOB.items():
        Path(name).write_text(text, encoding="utf-8")
    asked = [
        ["diagnose", str(case), "--format", "json", "-o", "verdict.json"],
        ["diagnose", str(case), "--redact", "--redact-hosts"],
        ["diagnose", str(case), "--format", "html", "--redact", "-o", "report.html"],
        ["fix", *JOB, "--from", "verdict.json"],
        *(["fix", name, "--from", "verdict.json"] for name in JOB),
        ["lint", str(case)],
        ["compare", str(DEMO), str(case)],
        ["compare", str(DEMO), str(case), "--format", "html", "-o", "compared.html"],
        ["timeline", str(case), "-o", "heat.html"],
        ["timeline", str(case), "-o", "trace.pftrace"],
    ]
    printed = f"{printed_by(case)} {printed_by(DEMO)} {' '.join(JOB.values())}"
    mixed = {}
    for words in asked:
        invoke(words)
        told = capsys.readouterr()
        assert told.out + told.err + words[-1]
        if found := foreign(told.out, printed) + foreign(told.err, printed):
            mixed[" ".join(words)] = found
    for page in tmp_path.glob("*.html"):
        if found := foreign(page_text(page.read_text("utf-8")), printed):
            mixed[page.name] = found
    assert mixed == {}


def test_of_many_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs"
    for case in CASES[::EACH]:
        shutil.copytree(case, jobs / case.parent.name)
    printed = " ".join(printed_by(case) for case in CASES[::EACH])
    assert invoke(["fleet", str(jobs)]) == 0
    assert foreign(capsys.readouterr().out, printed) == []
    assert invoke(["fleet", str(jobs), "--format", "html", "-o", "fleet.html"]) == 0
    assert foreign(page_text(Path("fleet.html").read_text("utf-8")), printed) == []


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        ["check", "--alone"],
        ["check", "--alone", "--format", "html"],
        ["run", "--", "true"],
        ["run", "--", "sh", "-c", "exit 3"],
        ["run", "--out", "run", "--", sys.executable, "-c", "raise ValueError(1)"],
        ["capture", "--pid", "{pid}"],
        ["diagnose", "--pid", "{pid}"],
        ["bench", "--op", "all_reduce", "--sizes", "1K", "--repeats", "2", "--backend", "gloo"],
    ],
    ids=" ".join,
)
def test_of_what_runs(words: list[str]) -> None:
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "1"}
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(sleeping, env=environment) as job:
        asked = [word.replace("{pid}", str(job.pid)) for word in words]
        done = subprocess.run(
            [sys.executable, "-m", "unhang", *asked], capture_output=True, text=True, check=False
        )
        job.kill()
    text = page_text(done.stdout) if "html" in words else unwrapped(done.stdout)
    assert done.stdout + done.stderr
    assert foreign(text, " ".join(words)) + foreign(done.stderr, " ".join(words)) == []
