"""Every form of a secret, in every output that is made for other people: none holds one."""

from collections.abc import Callable

import pytest

from support.secret_forms import forms
from unhang.model.causes import Cause
from unhang.model.diagnosis import Candidate, Diagnosis, Outcome
from unhang.model.finding import Strength
from unhang.model.fleet import Fleet
from unhang.model.lint import LintFinding, LintReport, SettingPlace, Severity
from unhang.model.provenance import Message, Problem, Provenance
from unhang.model.trace import Slice, SliceKind, Trace
from unhang.reporters import render
from unhang.reporters.fleet import render_fleet
from unhang.reporters.lint import render_lint
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


OUTPUTS: dict[str, Callable[[str], str]] = {
    "markdown": lambda text: report(text, "markdown"),
    "html": lambda text: report(text, "html"),
    "prompt": lambda text: report(text, "prompt"),
    "json --redact": redacted_json,
    "sarif": lambda text: linted(text, "sarif"),
    "github annotations": lambda text: linted(text, "github"),
    "fleet": surveyed,
    "timeline": traced,
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_output_for_others_holds_a_secret(output: str) -> None:
    write = OUTPUTS[output]
    leaks = [form.name for form in FORMS if form.left_in(write(form.text))]
    assert leaks == []
    assert "sample-of-text" in write("sample-of-text"), "the output tells the text at all"
