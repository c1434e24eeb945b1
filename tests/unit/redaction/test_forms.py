"""Every form of a secret goes from every text that leaves; lines of healthy jobs stay."""

import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from support.secret_forms import Form, forms, harmless, variables
from unhang.model.diagnosis import Diagnosis, Outcome
from unhang.model.provenance import Message, Problem
from unhang.notify import Alert, send
from unhang.notify.targets import read_targets
from unhang.redaction import Redactor
from unhang.reporters import render

FORMS = tuple(forms())
VALUE = "aB3xK9qLm2Zt"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_no_form_of_a_secret_stays(form: Form) -> None:
    redactor = Redactor()
    assert form.left_in(redactor.text(form.text)) == []
    assert sum(redactor.counts.values()) >= 1


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_in_a_log_of_a_job(form: Form) -> None:
    around = "\n".join(harmless()[:20])
    redactor = Redactor()
    told = redactor.text(f"{around}\n{form.text}\n{around}\n")
    assert form.left_in(told) == []
    assert redactor.text(told) == told, "redacting twice changes nothing"
    assert told.startswith(harmless()[0])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_in_a_docker_log(form: Form) -> None:
    text = "\n".join(json.dumps({"log": form.text, "stream": "stderr"}) for _ in range(2))
    assert form.left_in(Redactor().text(text)) == []


def test_lines_of_healthy_jobs_stay() -> None:
    lines = harmless()
    assert len(lines) >= 200
    changed = [line for line in lines if Redactor().text(line) != line]
    together = Redactor().text("\n".join(lines)).split("\n")
    changed += [line for line, told in zip(lines, together, strict=True) if line != told]
    assert changed == []


@pytest.mark.parametrize("name", variables())
def test_a_variable_of_a_secret(name: str) -> None:
    redactor = Redactor([{name: VALUE}])
    assert VALUE not in redactor.environment(f"{name}={VALUE}\0RANK=1\0".encode()).decode()
    assert VALUE not in redactor.text(f"tried {VALUE} in vain")


@pytest.mark.parametrize(
    "words",
    [
        ("train.py", "--password", VALUE, "--lr", "0.1"),
        ("train.py", f"--hf_token={VALUE}", "--lr", "0.1"),
        ("sshpass", "-p", VALUE, "ssh", "gpu-07"),
        ("mysql", f"-p{VALUE}", "runs"),
        ("curl", "-u", f"me:{VALUE}", "https://example.org"),
        ("train.py", f'{{"api_key": "{VALUE}"}}'),
    ],
)
def test_arguments(words: tuple[str, ...]) -> None:
    redactor = Redactor()
    assert VALUE not in redactor.text(" ".join(redactor.arguments(words)))
    assert VALUE not in redactor.text(json.dumps(words))
    assert VALUE not in redactor.text(repr(list(words)))


def verdict_that_quotes(text: str) -> Diagnosis:
    summary = Message(key="summary.undetermined", values={})
    return Diagnosis(
        outcome=Outcome.UNDETERMINED,
        summary=summary,
        problems=(Problem(artifact="a.log", component="parser", message=text),),
    )


@pytest.mark.process
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_reports_and_notifications(form: Form, chat: "Chat") -> None:
    verdict = verdict_that_quotes(form.text)
    assert form.left_in(render(verdict, "markdown")) == []
    assert form.left_in(render(verdict, "json", redact=True)) == []
    alert = Alert(kind="exited", at="2026-03-01T12:00:00Z", run="r", host="h", summary=form.text)
    (delivery,) = send(read_targets([chat.url], {}), alert)
    assert delivery.failure is None
    assert form.left_in(chat.bodies[-1]) == []


def test_json_keeps_what_the_user_may_see_unless_asked() -> None:
    verdict = verdict_that_quotes("password: hunter2hunter2")
    assert "hunter2hunter2" in render(verdict, "json")
    told = json.loads(render(verdict, "json", redact=True))
    assert told["redacted"] == {"named secret": 1}


class Chat:
    """A webhook on loopback, and what was posted to it."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                chat.bodies.append(json.dumps(json.loads(body), ensure_ascii=False))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture(scope="module")
def chat() -> Iterator[Chat]:
    chat = Chat()
    yield chat
    chat.server.shutdown()
    chat.server.server_close()


@pytest.mark.process
def test_a_bundle_of_a_run_folder_keeps_no_secret(tmp_path: Path) -> None:
    from unhang.capturing import capture

    root = tmp_path / "run"
    (root / "output").mkdir(parents=True)
    (root / "run.json").write_text(json.dumps({"command": ["t.py", "--password", VALUE]}))
    text = "\n".join(form.text for form in FORMS)
    (root / "output" / "rank_0.log").write_text(text + "\nloss/token: 2.3\n")
    result = capture(run_folder=root, out=tmp_path / "b.unhang.tar.zst", limit_s=15)
    assert sum(result.manifest.redacted.values()) > len(FORMS) / 2
    with (
        result.path.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=io.BytesIO(stream.read())) as bundle,
    ):
        told = {m.name: bundle.extractfile(m).read().decode() for m in bundle if m.isfile()}  # type: ignore[union-attr]
    whole = "\n".join(told.values())
    assert "loss/token: 2.3" in whole
    assert VALUE not in whole
    assert [form.name for form in FORMS if form.left_in(whole)] == []
