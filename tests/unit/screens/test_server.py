"""The page, its API, its stream, its metrics, and who may see them: over a real socket."""

from __future__ import annotations

import http.client
import json
import threading
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.page_server import ask, serving
from support.run_folders import AT_S, hanging, run_folder, training
from unhang.errors import UsageError
from unhang.screens.access import Access
from unhang.screens.server import Server

pytestmark = pytest.mark.process

TOKEN = "a-token-of-tests"


def test_the_page_and_its_parts(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    with serving(tmp_path) as server:
        for path, kind in (("/", "text/html"), ("/page.js", "text/javascript")):
            status, body, headers = ask(server, path)
            assert status == 200
            assert headers["Content-Type"].startswith(kind)
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert b"http" not in body.replace(b"http-equiv", b"")  # nothing from elsewhere
        assert ask(server, "/../pyproject.toml")[0] == 404
        assert ask(server, "/healthz")[0] == 204


def test_the_api_speaks_of_the_hang_in_both_languages(tmp_path: Path) -> None:
    run_folder(tmp_path, [training(AT_S), hanging(AT_S + 5)], events=2)
    with serving(tmp_path) as server:
        view = json.loads(ask(server, "/api/standing")[1])
        assert view["suspicions"][0]["culprits"] == "2"
        assert view["suspicions"][0]["title"] == "The job hangs"
        chinese = json.loads(ask(server, "/api/standing?lang=zh")[1])
        assert chinese["suspicions"][0]["title"] == "作业已卡住"
        earlier = json.loads(ask(server, f"/api/standing?at={AT_S}")[1])
        assert earlier["suspicions"] == []
        assert len(json.loads(ask(server, "/api/events")[1])) == 2
        assert "heat-ranks" in json.loads(ask(server, "/api/heat")[1])["html"]
        assert json.loads(ask(server, "/api/run")[1])["span"] == [AT_S, AT_S + 5]


def test_the_stream_tells_what_changes(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, [training(AT_S)])
    with serving(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
        connection.request("GET", "/stream")
        answer = connection.getresponse()
        lines = iter(lambda: answer.readline().decode().strip(), None)
        first = next(line for line in lines if line.startswith("data: {") and "classes" in line)
        assert json.loads(first[6:])["labels"]
        now = next(line for line in lines if line.startswith("data: ") and "suspicions" in line)
        assert json.loads(now[6:])["suspicions"] == []
        run_folder(tmp_path, [hanging(AT_S + 9)])
        folder.events.write_text('{"kind": "hang_confirmed", "why": "w"}\n')
        kinds: set[str] = set()
        while kinds != {"standing", "note"}:  # whichever is seen first
            line = next(line for line in lines if line.startswith("data: "))
            news = json.loads(line[6:])
            if isinstance(news, list):
                assert news[0]["kind"] == "hang_confirmed"
                kinds.add("note")
            elif news.get("suspicions"):
                kinds.add("standing")
        connection.close()


def test_metrics_are_what_prometheus_reads(tmp_path: Path) -> None:
    run_folder(tmp_path, [hanging()])
    with serving(tmp_path) as server:
        text = ask(server, "/metrics")[1].decode()
    samples = {
        (s.name, *sorted(s.labels.values())): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }
    assert samples["unhang_live",] == 1
    assert samples["unhang_ranks", "train", "waiting"] == 3
    assert samples["unhang_ranks", "frozen", "train"] == 1
    assert samples["unhang_suspicions", "confirmed"] == 1
    assert samples["unhang_rank_steps_total", "2", "gn1"] == 40
    assert samples["unhang_group_lacking_ranks", "0", "default_pg"] == 1
    assert samples["unhang_group_timeout_seconds", "0", "default_pg"] == 600


def test_a_finished_run_shows_no_numbers_of_ranks(tmp_path: Path) -> None:
    run_folder(tmp_path, [hanging()], ended=True)
    with serving(tmp_path) as server:
        text = ask(server, "/metrics")[1].decode()
    assert "unhang_live 0.0" in text
    assert "unhang_ranks" not in text


def test_the_token_opens_and_nothing_else_does(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    with serving(tmp_path, token=TOKEN) as server:
        assert ask(server, "/")[0] == 401
        assert ask(server, "/stream")[0] == 401
        assert ask(server, "/metrics", Authorization="Bearer wrong")[0] == 401
        assert ask(server, "/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
        status, _, headers = ask(server, f"/?token={TOKEN}")
        assert (status, headers["Location"]) == (303, "/")
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert ask(server, "/api/run", Cookie=cookie)[0] == 200
        assert ask(server, "/api/run", Cookie="=;=;;")[0] == 401
        name = cookie.partition("=")[0]
        assert name.endswith(str(server.server_address[1])), "a browser sends it to every port"
        assert ask(server, f"/?token={TOKEN}", Cookie=f"{name}=of-before")[0] == 303


def test_on_loopback_nothing_is_told_without_the_printed_token(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    server = Server(tmp_path, port=0)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        for path in ("/", "/page.js", "/api/run", "/metrics", "/stream", "/?token="):
            assert ask(server, path)[0] == 401, path
        assert ask(server, "/" + server.url.rpartition("/")[2])[0] == 303
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_token_in_the_address_cannot_write_headers(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    with serving(tmp_path) as server:
        status, _, headers = ask(server, "/?token=a%0d%0aX-Evil:%201")
    assert status == 200
    assert "X-Evil" not in headers


def test_a_foreign_name_for_this_machine_is_refused(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    with serving(tmp_path) as server:
        assert ask(server, "/api/run", Host="evil.example")[0] == 421
        assert ask(server, "/api/run", Host="[::1]:8765")[0] == 200
        assert ask(server, "/api/run", Host="localhost:1")[0] == 200


def test_listening_for_others_makes_a_token() -> None:
    assert len(Access("127.0.0.1", None).token or "") >= 20, "others use this machine, too"
    assert Access("127.0.0.1", None, open_to_all=True).token is None
    for host, token in (("0.0.0.0", None), ("127.0.0.1", TOKEN)):
        with pytest.raises(UsageError, match="--no-token"):
            Access(host, token, open_to_all=True)
    assert len(Access("0.0.0.0", None).token or "") >= 20
    with pytest.raises(UsageError, match="expected 8"):
        Access("0.0.0.0", "short")


def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    run_folder(tmp_path, [training()])
    with serving(tmp_path) as server:
        port = int(server.server_address[1])
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{port}"):
            Server(tmp_path, port=port)
