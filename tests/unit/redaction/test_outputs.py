"""Every form of a secret, in every output that is made for other people: none holds one."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.page_server import ask, serving
from support.run_folders import hanging, run_folder
from support.secret_forms import forms
from unhang.live.messages.losses import Loss
from unhang.model.causes import Cause
from unhang.model.comparison import Answer, Comparison, Interval, SettingChange, Side
from unhang.model.diagnosis import Candidate, Diagnosis, Outcome
from unhang.model.finding import Strength
from unhang.model.fleet import Fleet
from unhang.model.ids import Rank
from unhang.model.lint import LintFinding, LintReport, SettingPlace, Severity
from unhang.model.preflight import CheckReport, Stage, Status
from unhang.model.provenance import Message, Problem, Provenance
from unhang.model.trace import ClockOffset, Slice, SliceKind, Trace
from unhang.redaction import Redactor
from unhang.reporters import render
from unhang.reporters.check import render_check
from unhang.reporters.compare import render_comparison
from unhang.reporters.fleet import render_fleet
from unhang.reporters.lint import render_lint
from unhang.reporters.timeline import render_heatmap
from unhang.tracing.perfetto import encode_trace

FORMS = tuple(forms())


def verdict(text: str) -> Diagnosis:
    """One that tells a text wherever a log may put one: as a problem and as evidence."""
    return Diagnosis(
        outcome=Outcome.UNDETERMINED,
        summary=Message(key="summary.undetermined", values={}),
        problems=(Problem(artifact="a.log", component="parser", message=text),),
        candidates=(
            Candidate(
                cause=Cause.RANK_EXCEPTION,
                confidence=0.4,
                strength=Strength.HINTS,
                culprits=frozenset(),
                culprit_hosts=frozenset(),
                claim=Message(key="summary.undetermined", values={}),
                why=Message(key="summary.undetermined", values={}),
                against=None,
                rules=("CRA001",),
                evidence=(Provenance(artifact="a.log", line=3, text=text),),
            ),
        ),
    )


def report(text: str, form: str) -> str:
    return render(verdict(text), form)


def redacted_json(text: str) -> str:
    return render(verdict(text), "json", redact=True)


def linted(text: str, form: str) -> str:
    finding = LintFinding(
        code="CFG101",
        severity=Severity.ERROR,
        setting="NCCL_TIMEOUT",
        value=text,
        where=SettingPlace(artifact="launch.sh", line=3),
        reason=Message(
            key="advice.set_elsewhere",
            values={"name": "A", "value": text, "other": "1", "file": "b.sh"},
        ),
    )
    found = LintReport(
        findings=(finding,),
        problems=(Problem(artifact="a.yaml", component="yaml", message=text),),
    )
    return render_lint(found, form)


def surveyed(text: str) -> str:
    fleet = Fleet(
        jobs=(),
        judged=0,
        causes=(),
        weeks=(),
        by="jobs",
        hosts=(),
        hosts_tested=0,
        settings=(),
        settings_tested=0,
        problems=(Problem(artifact="a.log", component="parser", message=text),),
    )
    return render_fleet(fleet, "markdown")


def traced(text: str) -> str:
    told = Slice(
        process="rank 0",
        track="phases",
        name=text,
        kind=next(iter(SliceKind)),
        begin_s=1.0,
        end_s=2.0,
        details={"what": text},
    )
    return encode_trace(Trace(slices=(told,), moments=(), end_s=2.0)).decode("utf-8", "replace")


def heatmap(text: str) -> str:
    clocks = (ClockOffset(clock=text, offset_s=1.0, error_s=0.1, calls=3),)
    return render_heatmap(Trace(slices=(), moments=(), clocks=clocks, end_s=2.0), None)


def checked(text: str) -> str:
    told = Message(key="fix.verbatim", values={"text": text})
    stage = Stage(name="swap", status=Status.FAIL, message=told, host="gn1")
    return render_check(CheckReport(hosts=("gn1",), verdict=told, stages=(stage,)), "html")


def compared(text: str, form: str) -> str:
    even = Interval(1.0, 0.5, 2.0)
    side = Side(
        runs=1,
        failures=1,
        hangs=1,
        hours=None,
        per_hour=None,
        per_start=even,
        hangs_per_start=even,
        median_hours=None,
        causes={},
        phases={},
    )
    change = SettingChange(name="LAUNCH", before=(text,), after=(text,), partly=False)
    found = Comparison(
        answer=Answer.TOO_FEW,
        by="starts",
        before=side,
        after=side,
        ratio=even,
        p=1.0,
        needed=None,
        settings=(change,),
    )
    return render_comparison(found, form)


def asked_of_tools(text: str) -> str:
    """What an agent gets by MCP: the sentences for a model, and the data."""
    pytest.importorskip("mcp.server.mcpserver", reason="needs mcp: `make setup`")
    from unhang.mcp_server.tools import _answered

    found = verdict(text)
    told = _answered(lambda: (json.loads(render(found, "json")), render(found, "prompt")))
    return json.dumps(told.structured_content, ensure_ascii=False) + "".join(
        getattr(part, "text", "") for part in told.content
    )


OUTPUTS: dict[str, Callable[[str], str]] = {
    "markdown": lambda text: report(text, "markdown"),
    "html": lambda text: report(text, "html"),
    "prompt": lambda text: report(text, "prompt"),
    "json --redact": redacted_json,
    "sarif": lambda text: linted(text, "sarif"),
    "github annotations": lambda text: linted(text, "github"),
    "fleet": surveyed,
    "timeline": traced,
    "heatmap": heatmap,
    "check": checked,
    "comparison, markdown": lambda text: compared(text, "markdown"),
    "comparison, html": lambda text: compared(text, "html"),
    "mcp": asked_of_tools,
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_for_others_holds_a_secret(output: str) -> None:
    write = OUTPUTS[output]
    leaks = [form.name for form in FORMS if form.left_in(write(form.text))]
    assert leaks == []
    assert "sample-of-text" in write("sample-of-text"), "the output tells the text at all"


@pytest.mark.process
@pytest.mark.parametrize("path", ["/api/run", "/api/standing", "/api/events", "/metrics"])
def test_nothing_that_is_served_holds_a_secret(path: str, tmp_path: Path) -> None:
    """Every text of a run, each form in each; asked for over a socket."""
    seen = hanging()
    texts = ["sample-of-text", *(form.text for form in FORMS)]
    numbered = [(Rank(number), text) for number, text in enumerate(texts)]
    said = [Message(key="fix.verbatim", values={"text": text}) for text in texts]
    seen = replace(
        seen,
        world_size=len(texts),
        ranks=tuple(
            replace(seen.ranks[0], rank=rank, host=text, place=text, exception=text, op=text)
            for rank, text in numbered
        ),
        classes=tuple(replace(seen.classes[0], place=text, op=text) for text in texts),
        groups=tuple(
            replace(seen.groups[0], name=f"{rank}", description=text) for rank, text in numbered
        ),
        suspicions=tuple(
            replace(seen.suspicions[0], why=why, told=str(why.values["text"])) for why in said
        ),
        hosts=tuple(replace(seen.hosts[0], host=text) for text in texts),
        lost=tuple(Loss.of("history_unwritten", why=text) for text in texts),
    )
    folder = run_folder(tmp_path, [seen])
    record = json.loads(folder.record.read_text())
    folder.record.write_text(json.dumps({**record, "host": texts[0], "command": texts}))
    folder.events.write_text(
        "".join(json.dumps({"kind": "exited", "why": text}) + "\n" for text in texts)
    )
    with serving(tmp_path) as server:
        status, body, _ = ask(server, path)
    told = body.decode()
    assert status == 200
    assert [form.name for form in FORMS if form.left_in(told)] == []
    assert "sample-of-text" in told


@pytest.mark.parametrize("kept", [("hunter2hunter2",), ["hunter2hunter2"], "hunter2hunter2"])
def test_a_value_goes_with_the_name_that_stands_beside_it(kept: object) -> None:
    redactor = Redactor()
    change = SettingChange(name="HF_TOKEN", before=("hunter2hunter2",), after=(), partly=False)
    assert redactor.tree(change).before == ("[redacted variable]",)
    assert "hunter2" not in repr(redactor.tree({"DB_PASSWORD": kept}))
    assert redactor.tree({"NCCL_TIMEOUT": kept}) == {"NCCL_TIMEOUT": kept}
