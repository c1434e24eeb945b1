"""Scripts as frameworks ship them are quiet; what is wrong in a script is found, with its line."""

import json
import os
import re
from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.linting import lint_settings
from unhang.linting.checks import Releases, check
from unhang.linting.document import SettingsDocument
from unhang.linting.readers.process import read_environment, read_process
from unhang.model.lint import LintReport, Severity
from unhang.reporters.catalogue import sentences
from unhang.reporters.lint import FORMS, render_lint
from unhang.rules import RULES
from unhang.settings.binary import NcclBinary

SCRIPTS = sorted((Path(__file__).parent / "scripts").iterdir())


@pytest.fixture(autouse=True)
def no_installed_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed on this machine must not decide."""
    monkeypatch.setattr("unhang.linting.find_nccl", lambda: None)


def found(path: Path, text: str, **options: str) -> list[tuple[str, int | None, str]]:
    path.write_text(text)
    report = lint_settings([str(path)], **options)  # type: ignore[arg-type]
    return [(f.code, f.where.line, f.setting) for f in report.findings]


def test_there_are_enough_scripts() -> None:
    assert len(SCRIPTS) >= 30


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_shipped_script_raises_no_alarm(script: Path, tmp_path: Path) -> None:
    # Programs are kept as `.py.txt`: no tool of ours is to import or to check them.
    copy = tmp_path / script.name.removesuffix(".txt")
    copy.write_text(script.read_text())
    report = lint_settings([str(copy)])
    assert report.settings > 0
    assert not report.failed, [str(f) for f in report.findings]


def test_a_folder_finds_them_all() -> None:
    report = lint_settings([str(SCRIPTS[0].parent)])
    assert report.files >= 30
    assert not report.failed


SHELL = """\
#!/bin/bash
#SBATCH --nodes=4
# export NCCL_MAX_RINGS=4
export NCCL_TIMEOUT=7200 NCCL_DEBUG="WARNING"
export NCCL_SOCKET_IFNAME=lo
NCCL_IB_TIMEOUT=32 torchrun --nnodes 4 \\
    --master-port 29500 train.py \\
    --ddp_timeout 1800
echo "export NCCL_IB_MTU=4096"
bash -c "export NCCL_IB_MTU=4096; python x.py"
mpirun -x NCCL_TREE_THRESHOLD=0 -np 8 ./a.out
srun --export=ALL,NCCL_RINGS=2 python x.py
echo NCCL_MIN_RINGS=2 >> ~/.deepspeed_env
"""


def test_a_shell_script(tmp_path: Path) -> None:
    assert found(tmp_path / "launch.sh", SHELL) == [
        ("CFG101", 4, "NCCL_TIMEOUT"),
        ("CFG108", 4, "NCCL_DEBUG"),
        ("CFG117", 5, "NCCL_SOCKET_IFNAME"),
        ("CFG114", 6, "NCCL_IB_TIMEOUT"),
        ("CFG110", 8, "--ddp_timeout"),
        ("CFG101", 10, "NCCL_IB_MTU"),
        ("CFG103", 11, "NCCL_TREE_THRESHOLD"),
        ("CFG103", 12, "NCCL_RINGS"),
        ("CFG101", 13, "NCCL_MIN_RINGS"),
    ]


VERL = """\
ray job submit --runtime-env-json='{"env_vars": {"NCCL_MAX_RINGS": "8"}}' -- \\
    python3 -m verl.trainer.main_ppo \\
    +actor_rollout_ref.nccl_timeout=1200 \\
    +trainer.dist_backend=gloo
"""


@pytest.mark.parametrize(("version", "code"), [("0.7.1", "CFG120"), ("0.9.0", "CFG120")])
def test_hydra_overrides(tmp_path: Path, version: str, code: str) -> None:
    assert found(tmp_path / "run.sh", VERL, framework=f"verl=={version}") == [
        ("CFG101", 1, "NCCL_MAX_RINGS"),
        (code, 3, "+actor_rollout_ref.nccl_timeout"),
        ("CFG101", 4, "+trainer.dist_backend"),
    ]


KUBERNETES = """\
spec:
  containers:
    - name: pytorch
      command: ["torchrun", "--nnodes=2", "train.py", "--ddp_timeout=1800"]
      env:
        - name: NCCL_DEBUG
          value: "ERROR"   # too quiet
        - name: NCCL_IB_MTU
          value: "4096"
        - name: MASTER_ADDR
          value: localhost
      args:
        - |
          export NCCL_MAX_RINGS=8
          python train.py
"""


def test_kubernetes(tmp_path: Path) -> None:
    assert found(tmp_path / "job.yaml", KUBERNETES) == [
        ("CFG110", 4, "--ddp_timeout"),
        ("CFG108", 7, "NCCL_DEBUG"),
        ("CFG101", 9, "NCCL_IB_MTU"),
        ("CFG117", 11, "MASTER_ADDR"),
        ("CFG101", 14, "NCCL_MAX_RINGS"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("train.yaml", "output_dir: x\nddp_timeout: 180000000\n", ("CFG111", 2, "ddp_timeout")),
        ("Dockerfile", "FROM x\nENV NCCL_DEBUG DEBUG\n", ("CFG108", 2, "NCCL_DEBUG")),
        ("nccl.conf", "NCCL_TIMEOUT = 30\n", ("CFG101", 1, "NCCL_TIMEOUT")),
        (".env", 'NCCL_P2P_LEVEL="sys"\n', ("CFG109", 1, "NCCL_P2P_LEVEL")),
        ("launch.json", '{"env": {\n"NCCL_TIMEOUT": "1"}}\n', ("CFG101", 2, "NCCL_TIMEOUT")),
        (
            "train.py",
            'import os\nos.environ["NCCL_TIMEOUT"] = "7200"\n',
            ("CFG101", 2, "NCCL_TIMEOUT"),
        ),
        (
            "ray.py",
            'ray.init(runtime_env={"env_vars": {"NCCL_IB_MTU": "9000"}})\n',
            ("CFG101", 1, "NCCL_IB_MTU"),
        ),
        ("args.py", "a = TrainingArguments(ddp_timeout=1800)\n", ("CFG110", 1, "ddp_timeout")),
        (
            "compose.yaml",
            "environment:\n  NCCL_DEBUG: WARNING\n",
            ("CFG108", 2, "NCCL_DEBUG"),
        ),
    ],
)
def test_other_files(tmp_path: Path, name: str, text: str, expected: tuple[str, int, str]) -> None:
    assert found(tmp_path / name, text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "export NCCL_DEBUG=$LEVEL\n",
        "export NCCL_DEBUG=${NCCL_DEBUG:-WARN}\n",
        'if [ "$NCCL_DEBUG" = "DEBUG" ]; then echo NCCL_DEBUG=DEBUG; fi\n',
        "unset NCCL_TIMEOUT\n",
        "grep NCCL_TIMEOUT=1 log.txt\n",
        "",
        "'\"'\"\n",
        "=" * 5_000,
    ],
)
def test_what_sets_nothing_wrong(tmp_path: Path, text: str) -> None:
    assert found(tmp_path / "x.sh", text) == []


def test_branches_contradict_nobody(tmp_path: Path) -> None:
    branch = "if x; then\n  export NCCL_ALGO=Ring\nelse\n  export NCCL_ALGO=^Tree\nfi\n"
    assert found(tmp_path / "a.sh", branch) == []
    twice = "export NCCL_SOCKET_IFNAME=eth0\nexport NCCL_SOCKET_IFNAME=ib0\n"
    assert found(tmp_path / "b.sh", twice) == [("CFG119", 2, "NCCL_SOCKET_IFNAME")]


def test_code_that_reads_a_name_makes_it_no_myth(tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text("export NCCL_TIMEOUT=7200\n")
    assert lint_settings([str(tmp_path)]).failed
    (tmp_path / "train.py").write_text('import os\nt = os.environ.get("NCCL_TIMEOUT")\n')
    assert not lint_settings([str(tmp_path)]).failed


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("python train.py --timeout $NCCL_TIMEOUT", False),
        ("python train.py dist.timeout=${NCCL_TIMEOUT}", False),
        ("export NCCL_TIMEOUT=${NCCL_TIMEOUT:-1800}", True),
        ("echo $NCCL_TIMEOUT", True),
    ],
)
def test_a_launch_line_may_pass_a_name_on(tmp_path: Path, line: str, failed: bool) -> None:
    path = tmp_path / "launch.sh"
    path.write_text(f"export NCCL_TIMEOUT=7200\n{line}\n")
    assert lint_settings([str(path)]).failed is failed


def test_releases_are_those_that_are_named(tmp_path: Path) -> None:
    text = "export NCCL_ALGO=Tree NCCL_RAS_ENABLE=1\n"
    assert found(tmp_path / "a.sh", text, nccl="2.21.5") == [("CFG106", 1, "NCCL_RAS_ENABLE")]
    assert found(tmp_path / "a.sh", text, nccl="2.27.5") == [("CFG115", 1, "NCCL_ALGO")]


def test_an_unknown_name_is_compared_and_only_the_library_condemns_it() -> None:
    document = SettingsDocument(name="x")
    read_environment(document, {"NCCL_SOCKET_IFNAMES": "eth0", "NCCL_QUITE_NEW": "1"})
    near = check([document], Releases())
    assert [(f.setting, f.severity) for f in near] == [("NCCL_SOCKET_IFNAMES", Severity.INFO)]
    binary = NcclBinary(b"\0NCCL_QUITE_NEW\0NCCL version 2.33.0+cuda13.0\0")
    judged = check([document], Releases(binary=binary))
    assert [(f.setting, f.severity) for f in judged] == [("NCCL_SOCKET_IFNAMES", Severity.WARNING)]


def rank(number: int, **variables: str) -> SettingsDocument:
    document = SettingsDocument(name=f"rank {number}")
    read_environment(document, {"RANK": str(number), **variables})
    return document


def test_ranks_that_differ() -> None:
    findings = check([rank(0, NCCL_ALGO="Ring"), rank(1, NCCL_ALGO="^Tree")], Releases())
    assert [(f.code, f.setting, str(f.where)) for f in findings] == [
        ("CFG118", "NCCL_ALGO", "rank 1")
    ]
    assert check([rank(0, NCCL_ALGO="Ring"), rank(1, NCCL_ALGO="Ring")], Releases()) == ()
    assert check([rank(0, NCCL_DEBUG="WARN"), rank(1, NCCL_DEBUG="INFO")], Releases()) == ()


def test_a_rank_without_recorder_leaves_no_evidence() -> None:
    assert [f.code for f in check([rank(0)], Releases(torch="2.6.0"))] == ["CFG112"]
    assert check([rank(0)], Releases(torch="2.11.0")) == ()
    assert check([rank(0)], Releases()) == ()
    recorded = rank(0, TORCH_NCCL_TRACE_BUFFER_SIZE="2000")
    assert check([recorded], Releases(torch="2.6.0")) == ()


def test_a_process_and_those_below_it(tmp_path: Path) -> None:
    for pid, parent, variables, words in (
        (10, 1, b"A=1\0", b"torchrun\0--nnodes\x002\0"),
        (11, 10, b"RANK=0\0MASTER_ADDR=localhost\0NNODES=2\0", b"python\0train.py\0"),
        (12, 10, b"RANK=1\0MASTER_ADDR=node0\0", b"python\0train.py\0"),
        (99, 1, b"RANK=7\0", b"other\0"),
    ):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "environ").write_bytes(variables)
        (folder / "cmdline").write_bytes(words)
        (folder / "stat").write_text(f"{pid} (a ) b) S {parent} 1 1")
    documents = read_process(10, tmp_path)
    assert [d.name for d in documents] == ["pid 10", "rank 0", "rank 1"]
    findings = [(f.code, f.setting) for f in check(documents, Releases())]
    assert findings == [("CFG117", "MASTER_ADDR"), ("CFG118", "MASTER_ADDR")]


def test_a_copy_of_an_environment(tmp_path: Path) -> None:
    (tmp_path / "environ").write_bytes(b"RANK=0\0NCCL_DEBUG=ERROR\0")
    report = lint_settings([str(tmp_path / "environ")])
    assert [f.setting for f in report.findings] == ["NCCL_DEBUG"]


def test_the_environment_is_judged_where_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_TIMEOUT=30\n")
    monkeypatch.setenv("NCCL_CONF_FILE", str(conf))
    monkeypatch.setenv("NCCL_DEBUG", "1")
    found_in = {(f.setting, str(f.where)) for f in unhang.lint().findings}
    assert ("NCCL_DEBUG", "env") in found_in
    assert ("NCCL_TIMEOUT", f"{conf}:1") in found_in


def test_requests_that_cannot_be_carried_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        unhang.lint(str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="process"):
        unhang.lint(pid=2**30)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    locked = tmp_path / "a.sh"
    locked.write_text("export NCCL_DEBUG=1\n")
    locked.chmod(0)
    (tmp_path / "b.sh").write_text("export NCCL_DEBUG=1\n")
    report = lint_settings([str(tmp_path)])
    assert len(report.findings) == len(report.problems) == 1


def test_a_named_file_of_data_is_refused(tmp_path: Path) -> None:
    big = tmp_path / "big.sh"
    big.write_text("A=1\n" * 300_000)
    assert [p.artifact for p in lint_settings([str(big)]).problems] == [str(big)]


@pytest.fixture
def report(tmp_path: Path) -> LintReport:
    path = tmp_path / "a.sh"
    path.write_text("export NCCL_DEBUG=WARNING\nexport NCCL_TIMEOUT='<b>\x1b[31m%'\n")
    return lint_settings([str(path)])


def test_json_holds_the_contract(report: LintReport) -> None:
    value = json.loads(render_lint(report, "json"))
    assert value["schema"] == "unhang.lint/1"
    assert set(value["findings"][0]) == {
        "code", "severity", "setting", "value", "where", "message", "why", "replacement",
    }  # fmt: skip
    assert value["findings"][0]["severity"] == "error"
    assert value["findings"][0]["where"].endswith("a.sh:1")


def test_sarif(report: LintReport) -> None:
    run = json.loads(render_lint(report, "sarif"))["runs"][0]
    result = run["results"][0]
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_github_annotations_are_one_line_each(report: LintReport) -> None:
    lines = render_lint(report, "github").splitlines()
    assert len(lines) == 2
    assert re.match(r"::error file=.*a\.sh,line=1,title=CFG108 NCCL_DEBUG::NCCL ", lines[0])


@pytest.mark.parametrize("form", FORMS)
def test_no_form_lets_escapes_through(report: LintReport, form: str) -> None:
    assert "\x1b" not in render_lint(report, form)


def test_the_terminal_names_place_setting_and_replacement(report: LintReport) -> None:
    text = render_lint(report, "terminal")
    assert "a.sh:1: error CFG108 NCCL_DEBUG=WARNING" in text
    assert text.endswith("files or processes)")
    assert "Nothing is wrong" in render_lint(LintReport(), "terminal")


def test_every_code_has_its_reason() -> None:
    source = Path(unhang.__file__).parent
    text = "".join(
        p.read_text() for d in ("settings", "linting") for p in (source / d).rglob("*.py")
    )
    codes = set(re.findall(r"CFG1\d\d", text))
    assert len(codes) > 20
    assert {f"lint.{code}.why" for code in codes} <= sentences("en").keys()
    topics = set(re.findall(r'say\(\s*given,\s*"CFG\d+",\s*[\w. ]+,\s*"(\w+)"', text))
    assert len(topics) > 20
    assert {f"advice.{topic}" for topic in topics} <= sentences("en").keys()


BROKEN = {
    "a.yaml": ("ddp_timeout: 1800\nx: [1\ny: 2\n", "line 3"),
    "b.json": ('{"env": {"NCCL_DEBUG": "DEBUG"},\n}\n', "line 2"),
    "c.toml": ("[comm]\ninit_timeout_seconds = \n", "line 2"),
}


def test_a_file_that_does_not_parse_is_named_and_the_others_are_judged(tmp_path: Path) -> None:
    for name, (text, _) in BROKEN.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "d.sh").write_text("export NCCL_TIMEOUT=1\n")
    report = lint_settings([str(tmp_path)])
    assert [Path(p.artifact).name for p in report.problems] == list(BROKEN)
    for problem, (_, line) in zip(report.problems, BROKEN.values(), strict=True):
        assert f"does not parse: {line}: " in problem.message
    assert {f.setting for f in report.findings} == {"ddp_timeout", "NCCL_DEBUG", "NCCL_TIMEOUT"}
    text = render_lint(report, "terminal")
    assert "a.yaml: does not parse: line 3" in text


def test_a_number_without_end_is_told_and_the_rest_is_judged(tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    file.write_text(f'{{"env": {{"NCCL_DEBUG": "DEBUG"}}, "steps": {"7" * 5000}}}\n')
    report = lint_settings([str(file)])
    assert "a number is too long" in report.problems[0].message
    assert [f.setting for f in report.findings] == ["NCCL_DEBUG"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chart.yaml", "a: {{ .Values.x }}\n{{- if .y }}\nb: 1\n{{- end }}\n"),
        ("job.yaml", "a: !Custom\n  b: 1\n---\nc: 2\n"),
        ("launch.json", '{\n  // why\n  "a": 1,\n}\n'),
        ("empty.json", ""),
        ("empty.yaml", ""),
        ("ok.toml", "[a]\nb = 1\n"),
    ],
)
def test_what_is_a_template_or_allowed_is_no_error(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert lint_settings([str(tmp_path)]).problems == ()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "titan.toml",
            "[comm]\ninit_timeout_seconds = 200000  # x\n",
            ("CFG111", 2, "comm.init_timeout_seconds"),
        ),
        ("env.toml", '[env]\nNCCL_DEBUG = "DEBUG"\n', ("CFG108", 2, "NCCL_DEBUG")),
        (
            "pl.yaml",
            "trainer:\n  strategy:\n    init_args:\n      timeout: 7200\n",
            ("CFG108", 4, "trainer.strategy.init_args.timeout"),
        ),
        (
            "acc.yaml",
            "compute_environment: LOCAL\nddp_timeout: 7200\n",
            ("CFG120", 2, "ddp_timeout"),
        ),
        (
            "ds.json",
            '{"zero_optimization": {"stage": 3},\n"timeout": 60}\n',
            ("CFG101", 2, "timeout"),
        ),
        (
            "diag.sh",
            "python scripts/diagnose.py --check-nccl 1\n",
            ("CFG101", 1, "--check-nccl"),
        ),
        ("view.sh", "python rollout_viewer.py --timeline x\n", ("CFG101", 1, "--timeline")),
        (
            "meg.sh",
            "python pretrain_gpt.py --distributed-timeout-minutes 7200\n",
            ("CFG121", 1, "--distributed-timeout-minutes"),
        ),
        (
            "clip.sh",
            "NCCL_TIMEOUT=7200 torchrun -m open_clip_train.main --val-frequency 1\n",
            ("CFG101", 1, "NCCL_TIMEOUT"),
        ),
        (
            "recbole.yaml",
            "USER_ID_FIELD: user\nNCCL_TIMEOUT: 3600\n",
            ("CFG101", 2, "NCCL_TIMEOUT"),
        ),
    ],
)
def test_configurations_of_each_framework(
    tmp_path: Path, name: str, text: str, expected: tuple[str, int, str]
) -> None:
    assert found(tmp_path / name, text) == [expected]


def test_environments_of_all_ranks_of_a_bundle(tmp_path: Path) -> None:
    for number, algo in enumerate(("Ring", "Ring", "^Tree")):
        (tmp_path / f"environ.{number}").write_bytes(f"RANK={number}\0NCCL_ALGO={algo}\0".encode())
    report = lint_settings([str(tmp_path)])
    assert [(f.code, str(f.where)) for f in report.findings] == [("CFG118", "rank 2")]


def test_no_rule_of_the_diagnosis_has_the_code_of_a_finding_of_lint() -> None:
    texts = sentences("en")
    linted = {key.split(".")[1] for key in texts if key.startswith("lint.") and key[5:8].isupper()}
    assert linted
    assert linted.isdisjoint(rule.code for rule in RULES)
