"""What each chat is sent, and whom an address is taken for."""

import base64
import hashlib
import hmac
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhang.errors import UsageError
from unhang.model.ids import Rank
from unhang.notify import Alert, NotifyTarget, TargetKind, read_targets
from unhang.notify.alert import in_words
from unhang.notify.payloads import build

ALERT = Alert(
    kind="hang_confirmed",
    at="2026-11-21T07:00:00+00:00",
    run="llama-sft",
    host="gpu-07",
    summary="rank 1 is in time.sleep while ranks 0,2-3 wait in all_reduce",
    culprits=frozenset({Rank(1)}),
    phase="save",
    since_s=75.0,
    cause="rank_diverged",
    folder="unhang-runs/20261121-070000-train",
)
HOSTILE = Alert(
    kind="hang_confirmed",
    at="now",
    run='<!channel> \x1b[31m<at user_id="all"></at>',
    host="h\n@all",
    summary="<https://evil.example|click> & *bold* \u202e reversed",
)
URLS = {
    TargetKind.WEBHOOK: "https://alerts.example.org/in/SECRETPATH?key=SECRETKEY",
    TargetKind.SLACK: "https://hooks.slack.com/services/T0/B0/SECRETPATH",
    TargetKind.FEISHU: "https://open.feishu.cn/open-apis/bot/v2/hook/SECRETPATH#secret=SIGNSECRET",
    TargetKind.DINGTALK: "https://oapi.dingtalk.com/robot/send?access_token=SECRETKEY#SIGNSECRET",
    TargetKind.WECOM: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=SECRETKEY",
    TargetKind.OTLP: "otlp+https://telemetry.example.org/SECRETPATH",
}
ENVIRONMENT = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20SECRETKEY,x-scope=train"}
TARGETS = {kind: read_targets([url], ENVIRONMENT)[0] for kind, url in URLS.items()}


def body(kind: TargetKind, alert: Alert = ALERT, language: str = "en") -> dict[str, object]:
    post = build(TARGETS[kind], alert, in_words(alert, language), 1_760_000_000.5)
    told = json.loads(json.dumps(post.body))
    assert isinstance(told, dict)
    return told


def shown(told: object) -> str:
    return json.dumps(told, ensure_ascii=False)


@pytest.mark.parametrize("kind", TargetKind)
def test_an_address_is_known_by_its_host(kind: TargetKind) -> None:
    assert TARGETS[kind].kind is kind
    assert "#" not in TARGETS[kind].url


@pytest.mark.parametrize(
    ("text", "kind", "url"),
    [
        ("slack+http://gateway:8080/x", TargetKind.SLACK, "http://gateway:8080/x"),
        ("lark+https://g/x", TargetKind.FEISHU, "https://g/x"),
        ("webhook+https://hooks.slack.com/x", TargetKind.WEBHOOK, "https://hooks.slack.com/x"),
        ("https://open.larksuite.com/open-apis/bot/v2/hook/x", TargetKind.FEISHU, None),
        ("https://example.org/a+b", TargetKind.WEBHOOK, "https://example.org/a+b"),
        ("otlp+http://collector:4318", TargetKind.OTLP, "http://collector:4318/v1/logs"),
        ("otlp+https://c/otlp/v1/logs", TargetKind.OTLP, "https://c/otlp/v1/logs"),
    ],
)
def test_a_kind_can_be_said_outright(text: str, kind: TargetKind, url: str | None) -> None:
    (target,) = read_targets([text], {})
    assert target.kind is kind
    assert target.url == (url or text)


@pytest.mark.parametrize(
    "text",
    [
        "hooks.slack.com/x-SECRET",
        "ftp://x/SECRET",
        "https:///SECRET",
        "https://a:b:c/SECRET",
        "x+y",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(UsageError, match="--notify number 2 is not an address") as refused:
        read_targets(["https://ok.example", text], {})
    assert "SECRET" not in str(refused.value)


def test_the_environment_adds_addresses_and_a_secret() -> None:
    environment = {
        "UNHANG_NOTIFY": "https://a.example/1  dingtalk+https://b.example/2\nhttps://a.example/1",
        "UNHANG_NOTIFY_SECRET": "signs",
    }
    targets = read_targets(["https://a.example/0"], environment)
    assert [t.url[-1] for t in targets] == ["0", "1", "2"]
    assert [t.secret for t in targets] == [None, None, "signs"]
    assert read_targets([], {}) == ()


@pytest.mark.parametrize("kind", TargetKind)
def test_no_address_shows_itself(kind: TargetKind) -> None:
    post = build(TARGETS[kind], ALERT, in_words(ALERT, "en"), 1.0)
    assert "SECRET" not in f"{TARGETS[kind]!r} {TARGETS[kind].name} {post!r}"


@pytest.mark.parametrize("kind", TargetKind)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_chat_is_told_who_what_and_where(kind: TargetKind, language: str) -> None:
    told = shown(body(kind, language=language))
    for fact in ("unhang", "llama-sft", "rank 1 is in time.sleep", "gpu-07", "20261121-070000"):
        assert fact in told
    assert ("1 min 15 s" if language == "en" else "1 分钟 15 秒") in told
    assert (re.search(r"[\u4e00-\u9fff]", told) is not None) is (language == "zh")


def test_a_webhook_gets_facts() -> None:
    told = body(TargetKind.WEBHOOK)
    assert told["schema"] == "unhang.alert/1"
    assert (told["kind"], told["culprits"], told["since_s"]) == ("hang_confirmed", [1], 75.0)


def test_the_forms_of_the_chats() -> None:
    slack = body(TargetKind.SLACK)
    assert set(slack) == {"text", "blocks"}
    feishu = body(TargetKind.FEISHU)
    assert feishu["msg_type"] == "interactive"
    for kind in (TargetKind.DINGTALK, TargetKind.WECOM):
        told = body(kind)
        assert told["msgtype"] == "text"
        assert set(told) == {"msgtype", "text"}


def test_feishu_signs_nothing_with_time_and_secret() -> None:
    told = body(TargetKind.FEISHU)
    key = f"{told['timestamp']}\nSIGNSECRET".encode()
    digest = hmac.new(key, b"", hashlib.sha256).digest()
    assert told["timestamp"] == "1760000000"
    assert told["sign"] == base64.b64encode(digest).decode()


def test_dingtalk_signs_time_and_secret_with_the_secret() -> None:
    post = build(TARGETS[TargetKind.DINGTALK], ALERT, in_words(ALERT, "en"), 1_760_000_000.5)
    query = parse_qs(urlsplit(post.url).query)
    digest = hmac.new(b"SIGNSECRET", b"1760000000500\nSIGNSECRET", hashlib.sha256).digest()
    assert query["timestamp"] == ["1760000000500"]
    assert query["sign"] == [base64.b64encode(digest).decode()]
    assert query["access_token"] == ["SECRETKEY"]


def test_without_a_secret_nothing_is_signed() -> None:
    for text in ("feishu+https://a.example/x", "dingtalk+https://a.example/x"):
        (target,) = read_targets([text], {})
        post = build(target, ALERT, in_words(ALERT, "en"), 1.0)
        assert post.url == "https://a.example/x"
        assert "sign" not in post.body


@pytest.mark.parametrize("kind", [kind for kind in TargetKind if kind is not TargetKind.WEBHOOK])
def test_what_a_job_prints_calls_nobody_and_hides_nothing(kind: TargetKind) -> None:
    told = body(kind, HOSTILE)
    text = shown(told)
    assert "\x1b" not in text
    assert "\u202e" not in text
    if kind is TargetKind.SLACK:
        assert "<" not in text.replace("&lt;", "")
    if kind is TargetKind.FEISHU:
        assert "markdown" not in text
        assert "lark_md" not in text


@given(st.text(max_size=6_000), st.sampled_from(TargetKind))
def test_messages_keep_within_what_the_chats_take(summary: str, kind: TargetKind) -> None:
    alert = Alert(
        kind="aborted", at="t", run="r" * 50, host="h", summary=summary, folder="/x" * 900
    )
    told = body(kind, alert)
    size = len(json.dumps(told, ensure_ascii=False).encode(errors="replace"))
    assert size < (60_000 if kind is TargetKind.WEBHOOK else 20_000)
    if kind is TargetKind.WECOM:
        text = told["text"]
        assert isinstance(text, dict)
        assert len(text["content"].encode(errors="replace")) <= 2_048


def test_targets_are_values() -> None:
    assert NotifyTarget(kind=TargetKind.SLACK, host="h", url="u") == NotifyTarget(
        kind=TargetKind.SLACK, host="h", url="u"
    )


def test_headers_of_opentelemetry_go_to_its_receiver_alone() -> None:
    headers = {"authorization": "Bearer SECRETKEY", "x-scope": "train"}
    assert {kind: target.headers for kind, target in TARGETS.items() if target.headers} == {
        TargetKind.OTLP: headers
    }
    (target,) = read_targets(
        ["otlp+http://c:4318"], {"OTEL_EXPORTER_OTLP_HEADERS": "=x,a=1%0d%0aHost:evil,b=ü,,c"}
    )
    assert target.headers == {"c": ""}


@pytest.mark.parametrize("alert", [ALERT, HOSTILE])
def test_opentelemetrys_own_messages_read_what_it_is_sent(alert: Alert) -> None:
    logs = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    from google.protobuf import json_format

    read = json_format.ParseDict(body(TargetKind.OTLP, alert), logs.ExportLogsServiceRequest())
    (source,) = read.resource_logs
    (record,) = source.scope_logs[0].log_records
    told = {a.key: a.value.string_value or a.value.double_value for a in record.attributes}
    assert (record.event_name, record.severity_text) == ("unhang.hang_confirmed", "ERROR")
    assert record.time_unix_nano == 1_760_000_000_500_000_000
    assert told.get("unhang.culprits") == ("1" if alert is ALERT else None)
    assert told.get("unhang.since_s") == alert.since_s
    assert "\x1b" not in str(read)
