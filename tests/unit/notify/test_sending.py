"""Alerts over real HTTP: they arrive, are tried again, and never raise."""

import json
import threading
from collections.abc import Iterator

import pytest

from support.chat import OK, Reply, Server, chat
from unhang.model.ids import Rank
from unhang.notify import Alert, Delivery, read_targets, send, tell
from unhang.notify.sending import TRIES, deliver

pytestmark = pytest.mark.process

ALERT = Alert(
    kind="hang_confirmed",
    at="2026-11-21T07:00:00+00:00",
    run="训练",
    host="gpu-07",
    summary="rank 1 sleeps",
    culprits=frozenset({Rank(1)}),
)


@pytest.fixture
def server() -> Iterator[Server]:
    with chat() as told:
        yield told


def delivered(server: Server, kind: str, *replies: Reply) -> tuple[Delivery, list[float]]:
    server.replies.extend(replies)
    (target,) = read_targets([f"{kind}+{server.url}/hook/SECRETPATH?key=SECRETKEY#SIGNS"], {})
    pauses: list[float] = []
    return deliver(target, ALERT, "en", sleep=pauses.append), pauses


@pytest.mark.parametrize("kind", ["webhook", "slack", "feishu", "dingtalk", "wecom", "otlp"])
def test_an_alert_arrives(server: Server, kind: str) -> None:
    delivery, pauses = delivered(server, kind)
    assert delivery == Delivery(target=f"{kind} (127.0.0.1)", tries=1)
    assert pauses == []
    ((path, content, body),) = server.heard
    assert path.startswith("/hook/SECRETPATH?key=SECRETKEY")
    assert "SIGNS" not in path
    assert content == "application/json; charset=utf-8"
    assert "训练" in json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("webhook", (503, "busy", {})),
        ("slack", (429, "rate_limited", {"Retry-After": "7"})),
        ("wecom", (200, '{"errcode": 45009, "errmsg": "api freq out of limit"}', {})),
        ("dingtalk", (200, '{"errcode": 130101, "errmsg": "send too fast"}', {})),
    ],
)
def test_a_busy_server_is_tried_again(server: Server, kind: str, reply: Reply) -> None:
    delivery, pauses = delivered(server, kind, reply, OK)
    assert (delivery.failure, delivery.tries) == (None, 2)
    assert pauses == ([7.0] if reply[0] == 429 else [1.0])


def test_tries_have_an_end_and_pauses_a_limit(server: Server) -> None:
    reply = (429, "later", {"Retry-After": "9999"})
    delivery, pauses = delivered(server, "slack", *[reply] * 9)
    assert (delivery.tries, len(server.heard)) == (TRIES, TRIES)
    assert delivery.failure == "HTTP 429 Too Many Requests: later"
    assert pauses == [20.0, 20.0]


@pytest.mark.parametrize(
    ("kind", "reply", "failure"),
    [
        ("slack", (404, "no_service", {}), "HTTP 404 Not Found: no_service"),
        (
            "feishu",
            (200, '{"code": 19021, "msg": "sign match fail"}', {}),
            "code 19021: sign match fail",
        ),
        (
            "dingtalk",
            (200, '{"errcode": 310000, "errmsg": "keywords not in content"}', {}),
            "code 310000: keywords not in content",
        ),
        ("wecom", (200, "<html>", {}), "its answer is not JSON"),
        ("wecom", (200, "[]", {}), "its answer is not an object"),
        ("wecom", (200, "{}", {}), "code None: no message"),
    ],
)
def test_a_refusal_is_said_and_not_repeated(
    server: Server, kind: str, reply: Reply, failure: str
) -> None:
    delivery, _ = delivered(server, kind, reply, OK)
    assert (delivery.failure, delivery.tries) == (failure, 1)


def test_an_address_that_sends_elsewhere_is_not_followed(server: Server) -> None:
    delivery, _ = delivered(server, "webhook", (302, "", {"Location": f"{server.url}/elsewhere"}))
    assert delivery.failure is not None
    assert delivery.failure.startswith("HTTP 302")
    assert len(server.heard) == 1


def test_no_failure_repeats_the_address(server: Server) -> None:
    secrets = "see /hook/SECRETPATH?key=SECRETKEY with SIGNS"
    delivery, _ = delivered(server, "feishu", (200, json.dumps({"code": 1, "msg": secrets}), {}))
    assert delivery.failure is not None
    assert not any(s in delivery.failure for s in ("SECRETPATH", "SECRETKEY", "SIGNS"))


def test_nobody_there_is_a_failure_and_no_error() -> None:
    targets = read_targets(["http://127.0.0.1:9/SECRET", "https://no-such-host.invalid/SECRET"], {})
    for delivery in (deliver(t, ALERT, "en", sleep=lambda _: None) for t in targets):
        assert delivery.tries == TRIES
        assert delivery.failure is not None
        assert "SECRET" not in delivery.failure


def test_a_fault_of_ours_is_a_failure_and_no_error(server: Server) -> None:
    (target,) = read_targets([server.url], {})
    strange = Alert(kind="hang_confirmed", at="t", run="r", host="h", summary=None)  # type: ignore[arg-type]
    assert deliver(target, strange, "en").failure in {"TypeError", "AttributeError"}


def test_all_are_told_at_once_and_in_the_background(server: Server) -> None:
    targets = read_targets([f"{server.url}/1", f"slack+{server.url}/2", "http://127.0.0.1:9/3"], {})
    told: list[Delivery] = []
    done = threading.Semaphore(0)

    def report(delivery: Delivery) -> None:
        told.append(delivery)
        done.release()

    tell(targets[:2], ALERT, language="zh", report=report)
    for _ in range(2):
        assert done.acquire(timeout=30)
    assert sorted(d.target for d in told) == ["slack (127.0.0.1)", "webhook (127.0.0.1)"]
    assert sorted(path for path, _, _ in server.heard) == ["/1", "/2"]
    assert [d.failure for d in send(targets[:1], ALERT)] == [None]


REJECTED = '{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}'


@pytest.mark.parametrize(
    ("answer", "failure"), [("", None), ("{}", None), (REJECTED, "too old"), ("<html>", "not JSON")]
)
def test_a_receiver_of_opentelemetry_says_what_it_rejected(
    server: Server, answer: str, failure: str | None
) -> None:
    delivery, _ = delivered(server, "otlp", (200, answer, {}))
    assert (delivery.failure or "").endswith(failure or "")
    assert (delivery.failure is None) is (failure is None)
