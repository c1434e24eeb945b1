"""The command line: help, results, refusals. Every error is one sentence, never a traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import unhang
from support.diagnoses import HOSTILE, healthy, slow_save
from unhang import api
from unhang.commands import COMMANDS, invoke
from unhang.model.diagnosis import Outcome

Result = tuple[int, str, str]
Call = Callable[..., Result]

FUNCTIONLESS = {"completion", "drill"}
"""Commands about the shell itself, and rehearsals, have no function."""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process: exit code, standard output, standard error."""

    def run_it(*arguments: str) -> Result:
        code = invoke(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_it


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """`diagnose` gives a known verdict, whatever the paths."""
    monkeypatch.setattr(api, "diagnose", lambda *_, **__: slow_save())


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_and_a_function_of_its_name(name: str, call: Call) -> None:
    code, out, err = call(name, "--help")
    assert (code, err) == (0, "")
    assert COMMANDS[name].rstrip(".") in out
    assert name in FUNCTIONLESS or callable(getattr(api, name, None) or getattr(unhang, name))


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_the_commands(arguments: tuple[str, ...], call: Call) -> None:
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    assert all(name in out for name in COMMANDS)


def test_version(call: Call) -> None:
    assert call("--version")[1].strip() == f"unhang, version {unhang.__version__}"


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("form", "beginning"),
    [("terminal", "ROOT CAUSE "), ("json", "{\n"), ("markdown", "## ROOT CAUSE")],
)
def test_diagnose_in_each_form(form: str, beginning: str, call: Call) -> None:
    code, out, err = call("diagnose", "job.log", "--format", form)
    assert (code, err) == (0, "")
    assert out.startswith(beginning)
    assert out.endswith("\n")


@pytest.mark.usefixtures("judged")
def test_the_exit_code_tells_a_cause_only_when_asked(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("diagnose", "job.log")[0] == 0
    assert call("diagnose", "job.log", "--exit-code")[0] == 1
    monkeypatch.setattr(api, "diagnose", lambda *_, **__: healthy())
    assert call("diagnose", "job.log", "--exit-code")[0] == 0
    for outcome, code in ((Outcome.LOCATED, 3), (Outcome.UNDETERMINED, 4)):
        told = replace(healthy(), outcome=outcome)
        monkeypatch.setattr(api, "diagnose", lambda *_, told=told, **__: told)
        assert call("diagnose", "job.log", "--exit-code")[0] == code


@pytest.mark.usefixtures("judged")
def test_the_result_can_go_to_a_file(call: Call, tmp_path: Path) -> None:
    target = tmp_path / "verdict.json"
    code, out, err = call("diagnose", "job.log", "--format", "json", "-o", str(target))
    assert (code, out, err) == (0, "", "")
    assert json.loads(target.read_text("utf-8"))["cause"] == "checkpoint_slow"


@pytest.mark.usefixtures("judged")
def test_a_file_that_cannot_be_written_is_refused(call: Call, tmp_path: Path) -> None:
    code, out, err = call("diagnose", "job.log", "-o", str(tmp_path / "none" / "x"))
    assert (code, out) == (2, "")
    assert err.startswith("unhang: cannot write ")
    assert err.count("\n") == 1


def test_the_hint_of_a_framework_reaches_the_judge(tmp_path: Path, call: Call) -> None:
    log = tmp_path / "job.log"
    log.write_text("nothing to see\n")
    out = call("diagnose", str(log), "--framework", "TRL", "--format", "json")[1]
    assert json.loads(out)["framework"] == {"name": "trl", "basis": "named by the caller"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("diagnos", "x"), "did you mean `diagnose`?"),
        (("diagnose", "x", "--pid", "1"), "PATHs"),
        (("diagnose", "--pid", "1", "--job", "2"), "one of --pid, --job"),
        (("diagnose", "no-such-file.log"), "no-such-file.log"),
        (("diagnose", "x", "--format", "xml"), "xml"),
        (("diagnose", "x", "--colour"), "--colour"),
        (("explain", "gpu-omm"), "gpu_oom"),
        (("completion", "tcsh"), "tcsh"),
        (("/",), "did you mean `unhang diagnose /`?"),
        *(
            ((command, "A" * 5_000), "File name too long")
            for command in ("diagnose", "lint", "plan", "timeline", "fleet", "serve")
        ),
    ],
)
def test_unusable_requests_are_refused_in_one_sentence(
    arguments: tuple[str, ...], words: str, call: Call
) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("unhang: ")
    assert err.count("\n") == 1
    assert words in err


def fail(*_: object, **__: object) -> NoReturn:
    raise RuntimeError(HOSTILE)


def test_an_error_of_ours_is_one_harmless_sentence(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "diagnose", fail)
    code, out, err = call("diagnose", "job.log")
    assert (code, out) == (70, "")
    assert err.startswith("unhang: internal error (RuntimeError: ")
    assert "UNHANG_DEBUG=1" in err
    assert err.rstrip("\n").isprintable()


def test_who_looks_for_our_error_gets_the_traceback(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "diagnose", fail)
    monkeypatch.setenv("UNHANG_DEBUG", "1")
    assert "Traceback (most recent call last)" in call("diagnose", "job.log")[2]


def interrupt(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_interrupt_ends_quietly(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "diagnose", interrupt)
    code, out, err = call("diagnose", "job.log")
    assert (code, out, err.strip()) == (130, "", "unhang: interrupted")


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour(
    environment: dict[str, str], colours: bool, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in call("diagnose", "job.log")[1]) is colours
    assert "\x1b[" not in call("diagnose", "job.log", "--no-color")[1]


@pytest.mark.parametrize(
    ("locale", "language"),
    [("zh_CN.UTF-8", "zh"), ("en_US.UTF-8", "en"), ("C", "en"), ("", "en"), ("de_DE", "en")],
)
def test_the_language_of_the_locale(
    locale: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unhang.commands.output import locale_language

    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "UNHANG_LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    assert locale_language() == language


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "de:en"}, "en"),
        ({"LC_ALL": "C", "LANGUAGE": "zh_CN"}, "en"),
        ({"LC_ALL": "C", "UNHANG_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "UNHANG_LANG": "en"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "UNHANG_LANG": "fr"}, "zh"),
    ],
)
def test_the_language_that_variables_ask_for(
    variables: dict[str, str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unhang.commands.output import locale_language

    for name in ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE", "UNHANG_LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert locale_language() == language


def test_the_languages_are_those_of_the_catalogue() -> None:
    from unhang.commands.output import LANGUAGES
    from unhang.reporters import catalogue

    assert LANGUAGES == catalogue.LANGUAGES


def test_the_forms_are_those_of_the_reporters() -> None:
    from unhang.commands.diagnose import command
    from unhang.reporters import REPORTERS

    (option,) = [p for p in command.params if p.name == "form"]
    # A notebook asks for its form itself.
    assert {*getattr(option.type, "choices", ()), "notebook"} == set(REPORTERS)


def test_rules_are_listed(call: Call) -> None:
    out = call("rules")[1]
    assert "DSY001" in out
    listed = json.loads(call("rules", "--format", "json")[1])
    assert listed["schema"] == "unhang.rules/1"
    assert {rule["code"] for rule in listed["rules"]} >= {"DSY001"}
    assert all(rule["summary"] for rule in listed["rules"])


@pytest.mark.process
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(shell: str, call: Call) -> None:
    code, out, _ = call("completion", shell)
    assert code == 0
    assert "_UNHANG_COMPLETE" in out


UNHANG = [sys.executable, "-m", "unhang"]


@pytest.mark.process
def test_completion_offers_the_commands() -> None:
    environment = {
        **os.environ,
        "_UNHANG_COMPLETE": "bash_complete",
        "COMP_WORDS": "unhang di",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(UNHANG, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["plain,diagnose"]


@pytest.mark.process
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [*UNHANG, "rules"], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.process
def test_an_old_locale_gets_what_it_can_show() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*UNHANG, "explain", "desync"], env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.process
def test_lines_of_a_log_come_from_standard_input_whatever_their_bytes() -> None:
    line = b"\xff [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8,"
    line += b" OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600020 milliseconds before timing out."
    done = subprocess.run([*UNHANG, "explain", "-"], input=line, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"ALLREDUCE" in done.stdout


@pytest.mark.process
def test_ctrl_c_while_reading_leaves_no_traceback() -> None:
    program = (
        "import signal, sys; from unhang.commands import invoke;"
        # A test run in the background inherits that interrupts are ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "print('ready', flush=True);"
        "sys.exit(invoke(['explain', '-']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (130, "", "unhang: interrupted")


def loaded(*arguments: str) -> set[str]:
    """The modules that a command loads."""
    program = (
        "import sys; from unhang.commands import invoke; code = invoke(sys.argv[1:]);"
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.process
def test_help_loads_next_to_nothing() -> None:
    modules = loaded("--help")
    assert "unhang.commands" in modules
    assert not modules & {"rich", "unhang.api", "unhang.model.diagnosis", "zstandard", "torch"}


@pytest.mark.process
def test_json_needs_no_rich_and_no_command_needs_torch(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("nothing to see\n")
    assert not loaded("diagnose", str(log), "--format", "json") & {"rich", "torch", "numpy"}
    assert not loaded("diagnose", str(log)) & {"torch", "numpy"}


def test_fix_prints_the_difference_and_says_the_rest_aside(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fix = dict.fromkeys(("title", "framework", "reaches", "risk", "verify"), "trl")
    fix |= {"kind": "cure", "where": "yaml", "patch": "ddp_timeout: 7200"}
    Path("v.json").write_text(json.dumps({"schema": "unhang.diagnosis/1", "fixes": [fix]}))
    Path("t.yaml").write_text("output_dir: x\n")
    code, out, err = call("fix", "t.yaml", "--from", "v.json")
    assert (code, out) == (
        0,
        "--- t.yaml\n+++ t.yaml\n@@ -1 +1,2 @@\n output_dir: x\n+ddp_timeout: 7200\n",
    )
    assert "--apply" in err
    code, out, err = call("fix", "t.yaml", "--from", "v.json", "--apply", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["backup"] == "t.yaml.bak"
    code, out, err = call("fix", "t.yaml", "--from", "v.json")
    assert (code, out) == (0, "")
    assert "already" in err
    code, out, err = call("fix", "v.json", "--from", "v.json")
    assert (code, out) == (2, "")
    assert "cannot take any fix" in err


def test_lint_of_a_file_that_does_not_parse_exits_with_2(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: [1\ny: 2\n")
    (tmp_path / "b.sh").write_text("export NCCL_TIMEOUT=1\n")
    code, out, err = call("lint", str(tmp_path))
    assert (code, err) == (2, "")
    assert "NCCL_TIMEOUT" in out
    assert "a.yaml: does not parse: line 2" in out
