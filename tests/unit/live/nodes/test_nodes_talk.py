"""Several nodes, one judge: instructions, evidence, collector, shared folder, uplink."""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from unhang.errors import UsageError
from unhang.live.judge.monitor import Monitor
from unhang.live.messages.actions import (
    Abort,
    Action,
    Capture,
    Note,
    NoteKind,
    OrderDump,
    SetTimeouts,
)
from unhang.live.messages.inputs import DumpsReady, Input, OutputEnded, Tick
from unhang.live.messages.instructions import Instructions
from unhang.live.messages.job_snapshot import JobSnapshot
from unhang.live.messages.losses import Loss
from unhang.live.messages.reports import NodeReport, ProcessFacts, ProcessReport
from unhang.live.messages.wire import beat_from_json, node_to_json
from unhang.live.nodes import signing
from unhang.live.nodes.addresses import is_secure
from unhang.live.nodes.certificate import identity_of
from unhang.live.nodes.collector import Collector
from unhang.live.nodes.evidence import evidence_of, keep
from unhang.live.nodes.follower import Follower
from unhang.live.nodes.http_carrier import HttpCarrier
from unhang.live.nodes.inbox import Inbox
from unhang.live.nodes.leader import Leader
from unhang.live.nodes.shared_folder import FolderCarrier, FolderHub, read_plain
from unhang.live.nodes.uplink import FileRefused, UplinkThread
from unhang.live.run_folder.layout import RunFolder
from unhang.live.run_folder.record import close_record, open_record
from unhang.model.provenance import Message

NOTE = Note(kind=NoteKind.HANG_CONFIRMED, why=Message(key="run.leftover", values={"pids": "1"}))


def report(host: str = "node1", mono_s: float = 1.0) -> NodeReport:
    return NodeReport(host=host, wall_s=100.0, mono_s=mono_s)


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "judge")
    made.make()
    return made


@pytest.fixture
def other(tmp_path: Path) -> RunFolder:
    """The run folder of another node, with something in it."""
    made = RunFolder(tmp_path / "other")
    made.make()
    made.dump(2).mkdir()
    (made.dump(2) / "trace_4.pickle").write_bytes(b"pickle")
    (made.dump(2) / "half.part").write_bytes(b"half")
    (made.stacks / "node1-7.txt").write_text("stack")
    (made.stacks / "node2-8.txt").write_text("of another host")
    made.output("node1").mkdir()
    (made.output("node1") / "stdout.log").write_text("line\n")
    return made


@pytest.fixture
def collector(folder: RunFolder) -> Iterator[Collector]:
    made = Collector(folder, "127.0.0.1", 0, "secret")
    yield made
    made.close()


@contextmanager
def carrier(
    collector: Collector, token: str = "secret", host: str = "node1", scheme: str = "http"
) -> Iterator[HttpCarrier]:
    link = HttpCarrier(f"{scheme}://127.0.0.1:{collector.port}", token, host)
    try:
        yield link
    finally:
        link.close()


def test_instructions_cross_the_wire_and_nonsense_does_not() -> None:
    told = Instructions(beat=3, dump=1, abort="x", timeouts=SetTimeouts(mode="fixed", limit_ms=9))
    assert Instructions.from_json(json.loads(json.dumps(told.to_json()))) == told
    for name, wrong in [
        ("beat", "3"),
        ("interval_s", 0),
        ("interval_s", 1e9),
        ("abort", None),
        ("timeouts", {"mode": "kill"}),
        ("timeouts", {"mode": "judge", "limit_ms": "long"}),
    ]:
        assert Instructions.from_json(told.to_json() | {name: wrong}) is None
    assert Instructions.from_json([]) is None


def test_evidence_is_what_this_host_has_of_that_moment(other: RunFolder) -> None:
    found = dict(evidence_of(other, "node1", 2))
    assert found == {
        "dumps/2/trace_4.pickle": b"pickle",
        "stacks/node1-7.txt": b"stack",
        "output/node1/stdout.log": b"line\n",
    }


def test_of_a_long_output_the_end_is_sent_by_whole_lines(other: RunFolder) -> None:
    path = other.output("node1") / "stdout.log"
    path.write_text("".join(f"{n:07}\n" for n in range(300_000)))
    data = dict(evidence_of(other, "node1", 2))["output/node1/stdout.log"]
    assert len(data) <= 1 << 20
    assert len(data.split(b"\n")[0]) == 7
    assert data.endswith(b"0299999\n")


@pytest.mark.parametrize(
    "name",
    [
        "../run.json",
        "run.json",
        "dumps/1/../../run.json",
        "dumps/1/.hidden",
        "/etc/passwd",
        "output/../x",
        "stacks/a/b",
        "dumps/x/trace_1.json",
        "boards/a.board",
        "",
    ],
)
def test_only_paths_of_evidence_are_kept(name: str, folder: RunFolder) -> None:
    with pytest.raises(ValueError, match="is not a path of evidence"):
        keep(folder, name, b"x")


def test_the_inbox_keeps_the_newest_report_of_each_host(folder: RunFolder) -> None:
    inbox = Inbox(folder)
    for item in (report("a", 1.0), report("b", 1.0), report("a", 2.0)):
        inbox.put(item)
    assert inbox.reports() == [report("a", 2.0), report("b", 1.0)]
    assert inbox.reports() == []


@pytest.mark.process
def test_a_report_reaches_the_collector_and_brings_instructions_back(collector: Collector) -> None:
    told = Instructions(beat=7, dump=2)
    collector.publish(told)
    with carrier(collector) as link:
        assert link.exchange(report()) == told
        assert link.exchange(report(mono_s=2.0)) == told, "on the same connection"
    assert collector.reports() == [report(mono_s=2.0)]


@pytest.mark.process
def test_changes_of_a_report_that_the_collector_does_not_have_are_refused(
    collector: Collector,
) -> None:
    with carrier(collector) as first, carrier(collector) as again:
        first.exchange(report())
        again.exchange(report(mono_s=2.0))
        again.exchange(report(mono_s=3.0))
        with pytest.raises(OSError, match="409"):
            first.exchange(report(mono_s=4.0))
        first.exchange(report(mono_s=5.0))
    assert collector.reports() == [report(mono_s=5.0)]


@pytest.mark.process
def test_evidence_reaches_the_judges_folder(
    collector: Collector, folder: RunFolder, other: RunFolder
) -> None:
    with carrier(collector) as link:
        for name, data in evidence_of(other, "node1", 2):
            link.put(name, data)
        link.mark(2, "node1")
        with pytest.raises(OSError, match="400"):
            link.put("run.json", b"{}")
        link.put("dumps/2/trace_4.pickle", b"again")
        with pytest.raises(FileRefused):
            link.put("output/judge/stdout.log", b"forged")
    (folder.dump(2) / "trace_0.pickle").write_bytes(b"the judge's own")
    with carrier(collector) as link, pytest.raises(FileRefused):
        link.put("dumps/2/trace_0.pickle", b"forged")
    assert (folder.dump(2) / "trace_0.pickle").read_bytes() == b"the judge's own"
    assert collector.delivered(2) == {"node1"}
    assert (folder.dump(2) / "trace_4.pickle").read_bytes() == b"again"


@pytest.mark.process
def test_who_does_not_know_the_secret_is_refused(collector: Collector) -> None:
    with carrier(collector, "guess") as link, pytest.raises(OSError, match="401"):
        link.exchange(report())
    assert collector.reports() == []


def signed(path: str, body: bytes, node: str = "node1", **changed: str) -> bytes:
    """A request as a node sends it, with some headers changed after it was signed."""
    headers = {"Content-Length": str(len(body))}
    headers |= signing.headers_for(signing.key_of("secret"), path, node, body) | changed
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


def status_of(request: bytes, port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
        link.sendall(request)
        try:
            answer = link.recv(4096)
        except ConnectionResetError:  # closed while more was on its way
            answer = b""
    return answer[len(b"HTTP/1.1 ") :][:3]


DEEP = zstandard.compress(b'{"host":' + b"[" * 100_000)
FORGED = zstandard.compress(json.dumps(node_to_json(report("node2"))).encode())


@pytest.mark.process
@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n", b"401"),
        (b"POST /v1/report HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n", b"401"),
        (signed("/v1/x", b""), b"404"),
        (signed("/v1/report", b"not zstd!"), b"400"),
        (signed("/v1/report", b"x", **{"X-Unhang-Node": "node2"}), b"401"),
        (signed("/v1/report", b"x", **{"X-Unhang-Number": "9" * 19}), b"401"),
        (signed("/v1/report", b"x", **{"X-Unhang-Signature": "\xff"}), b"401"),
        (signed("/v1/report", b"four")[:-4] + b"five", b"401"),
        (signed("/v1/report", DEEP), b"400"),
        (signed("/v1/report", FORGED), b"403"),
        (signed("/v1/delivered/2/node2", zstandard.compress(b"")), b"403"),
        (signed("/v1/report", zstandard.compress(bytes(200 << 20))), b"400"),
        (b"\xff\xfe\r\n\r\n", b"401"),
        (b"A" * 40_000, b""),
    ],
)
def test_what_is_no_request_is_answered_and_survived(
    request_bytes: bytes, status: bytes, collector: Collector
) -> None:
    assert status_of(request_bytes, collector.port) == status
    with carrier(collector) as good:
        assert good.exchange(report()) is not None
    assert collector.reports() == [report()]


@pytest.mark.process
@pytest.mark.parametrize("path", ["/v1/report", "/v1/files/dumps/2/trace_4.pickle"])
def test_a_body_that_claims_its_size_is_not_believed(path: str, collector: Collector) -> None:
    request = signed(path, zstandard.compress(bytes(300 << 20)))
    tracemalloc.start()
    try:
        assert status_of(request, collector.port) == b"400"
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.process
def test_nothing_is_said_twice(collector: Collector) -> None:
    request = signed("/v1/report", zstandard.compress(json.dumps(node_to_json(report())).encode()))
    assert status_of(request, collector.port) == b"200"
    assert status_of(request, collector.port) == b"409"


@pytest.mark.process
def test_nobody_speaks_for_the_judging_node(folder: RunFolder) -> None:
    hub = Collector(folder, "127.0.0.1", 0, "secret", own="judge")
    try:
        with carrier(hub, host="judge") as link, pytest.raises(OSError, match="403"):
            link.exchange(report("judge"))
        assert hub.reports() == []
    finally:
        hub.close()


def test_a_rank_is_reported_by_one_node(folder: RunFolder) -> None:
    def of_rank(host: str) -> NodeReport:
        beat = beat_from_json({"host": host, "pid": 7, "rank": 3})
        assert beat is not None
        facts = ProcessFacts(alive=True)
        return replace(
            report(host),
            processes=(ProcessReport(beat=beat, facts=facts, beats=1, beat_age_s=0.0),),
        )

    inbox = Inbox(folder)
    inbox.put(of_rank("a"))
    inbox.put(of_rank("b"))
    assert {r.host: len(r.processes) for r in inbox.reports()} == {"a": 1, "b": 0}


def test_a_label_belongs_to_the_address_that_has_it(folder: RunFolder) -> None:
    inbox = Inbox(folder)
    inbox.admit("node1", "10.0.0.1")
    inbox.admit("node1", "10.0.0.1")
    with pytest.raises(ValueError, match="another node"):
        inbox.admit("node1", "10.0.0.2")


@pytest.mark.process
def test_idle_connections_keep_nobody_out(collector: Collector) -> None:
    idle = [socket.create_connection(("127.0.0.1", collector.port), 10) for _ in range(300)]
    try:
        with carrier(collector) as known:
            begun = time.monotonic()

            def heard() -> bool:
                try:
                    return known.exchange(report(mono_s=time.monotonic())) is not None
                except OSError:
                    return False

            wait_for(heard, 20)
            assert time.monotonic() - begun < 15
    finally:
        for link in idle:
            link.close()


@pytest.mark.process
def test_off_loopback_the_collector_speaks_tls(folder: RunFolder) -> None:
    hub = Collector(folder, "127.0.0.1", 0, "a secret of sixteen", tls=True)
    url = f"127.0.0.1:{hub.port}"
    try:
        with carrier(hub, "a secret of sixteen", scheme="https") as link:
            assert link.exchange(report()) is not None
        with (
            carrier(hub, "another secret here", scheme="https") as stranger,
            pytest.raises(OSError, match="certificate differs"),
        ):
            stranger.exchange(report())
        with carrier(hub, "a secret of sixteen") as plain, pytest.raises(OSError, match=r"."):
            plain.exchange(report())
        assert hub.reports() == [report()]
    finally:
        hub.close()
    assert is_secure("http://10.0.0.1:29400")
    assert is_secure(f"https://{url}")
    assert not is_secure(f"http://{url}")


def test_a_certificate_is_that_of_its_secret() -> None:
    made = identity_of("a secret of sixteen")
    assert made == identity_of("a secret of sixteen")
    assert made.fingerprint != identity_of("another secret here").fingerprint
    pem = ssl.DER_cert_to_PEM_cert(made.certificate)
    ssl.create_default_context(cadata=pem)  # OpenSSL reads it


@pytest.mark.process
def test_a_port_that_is_taken_is_a_sentence(collector: Collector, folder: RunFolder) -> None:
    with pytest.raises(UsageError, match="nobody can listen"):
        Collector(folder, "127.0.0.1", collector.port, "secret")


@pytest.mark.process
def test_a_shared_folder_believes_only_what_changes(
    tmp_path: Path, folder: RunFolder, other: RunFolder
) -> None:
    shared = tmp_path / "shared"
    lost: list[Loss] = []
    old = FolderCarrier(shared, "ghost")
    old.exchange(report("ghost"))
    for name, data in evidence_of(other, "node1", 2):
        old.put(name, data)
    old.mark(2, "ghost")
    (shared / "instructions.json").write_text(json.dumps(Instructions(beat=9).to_json()))
    link = FolderCarrier(shared, "node1")
    assert link.exchange(report()) is None, "instructions that an earlier run left"
    hub = FolderHub(shared, folder, lost.append)
    try:
        heard: list[NodeReport] = []
        beat = 20

        def exchanged() -> bool:
            nonlocal beat
            beat += 1
            hub.publish(Instructions(beat=beat, dump=2))
            told = link.exchange(report(mono_s=float(beat)))
            heard.extend(hub.reports())
            return told is not None and told.dump == 2 and bool(heard)

        wait_for(exchanged)
        assert {item.host for item in heard} == {"node1"}
        for name, data in evidence_of(other, "node1", 2):
            link.put(name, data)
        link.mark(2, "node1")
        wait_for(lambda: hub.delivered(2) == {"node1"})
        assert (folder.dump(2) / "trace_4.pickle").read_bytes() == b"pickle"
    finally:
        hub.close()
    assert lost == []


@pytest.mark.process
def test_a_shared_folder_is_read_without_links_pipes_and_forgeries(
    tmp_path: Path, folder: RunFolder
) -> None:
    shared, secret = tmp_path / "shared", tmp_path / "secret.txt"
    secret.write_text("not for the run")
    lost: list[Loss] = []
    hub = FolderHub(shared, folder, lost.append, own="judge")
    try:
        nodes, place = shared / "nodes", shared / "evidence" / "1" / "node1"
        nodes.mkdir(parents=True)
        (place / "dumps" / "1").mkdir(parents=True)
        os.mkfifo(nodes / "pipe.json")
        (nodes / "link.json").symlink_to(secret)
        (nodes / "deep.json").write_text("[" * 100_000)
        (nodes / "folder.json").mkdir()
        (nodes / "judge.json").write_text(json.dumps(node_to_json(report("judge"))))
        (nodes / "other.json").write_text(json.dumps(node_to_json(report("somebody"))))
        (shared / "evidence" / "no number" / "x").mkdir(parents=True)
        (shared / "evidence" / "no number" / "x" / "complete").touch()
        os.mkfifo(place / "dumps" / "1" / "trace_2.json")
        (place / "dumps" / "1" / "trace_3.json").symlink_to(secret)
        (place / "dumps" / "1" / "trace_4.json").write_text("{}")
        (place / "away").symlink_to(tmp_path, target_is_directory=True)
        (place / "complete").touch()
        wait_for(lambda: hub.delivered(1) == {"node1"})
        for name in ("deep", "judge", "other"):
            (nodes / f"{name}.json").write_bytes((nodes / f"{name}.json").read_bytes() + b" ")
        link = FolderCarrier(shared, "node1")
        heard: list[NodeReport] = []

        def told() -> bool:
            link.exchange(report(mono_s=time.monotonic()))
            heard.extend(hub.reports())
            return bool(heard)

        wait_for(told)
    finally:
        hub.close()
    assert {item.host for item in heard} == {"node1"}
    assert [path.name for path in folder.dump(1).iterdir()] == ["trace_4.json"]
    assert "not for the run" not in "".join(
        path.read_text() for path in folder.root.rglob("*") if path.is_file()
    )
    assert {loss.values["node"] for loss in lost} >= {"pipe", "link", "folder", "node1"}


def test_what_another_user_laid_in_the_shared_folder_is_nobody_s(tmp_path: Path) -> None:
    path = tmp_path / "node1.json"
    path.write_text("{}")
    owner = path.stat().st_uid
    assert read_plain(path, 10, owner) == b"{}"
    with pytest.raises(ValueError, match="another user"):
        read_plain(path, 10, owner + 1)


def test_a_node_writes_through_no_link_in_the_shared_folder(tmp_path: Path) -> None:
    elsewhere, shared = tmp_path / "elsewhere", tmp_path / "shared"
    elsewhere.mkdir()
    shared.mkdir()
    for name in ("nodes", "evidence"):
        (shared / name).symlink_to(elsewhere, target_is_directory=True)
    node = FolderCarrier(shared, "node1")
    with pytest.raises(OSError, match="is a link"):
        node.exchange(report())
    with pytest.raises(OSError, match="is a link"):
        node.put("dumps/1/trace_0.pickle", b"")
    with pytest.raises(OSError, match="is a link"):
        node.mark(1, "node1")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.process
def test_large_files_and_odd_names_in_a_shared_folder_cost_little(
    tmp_path: Path, folder: RunFolder
) -> None:
    nodes = tmp_path / "shared" / "nodes"
    nodes.mkdir(parents=True)
    for number in range(30):
        with (nodes / f"zeros{number}.json").open("wb") as file:
            file.truncate(16 << 20)
    with (nodes / "large.json").open("wb") as file:
        file.truncate(1 << 30)
    (nodes / os.fsdecode(b"odd\xff.json")).symlink_to("/etc/passwd")
    (nodes / "passwd.json").symlink_to("/etc/passwd")
    lost: list[Loss] = []
    tracemalloc.start()
    try:
        hub = FolderHub(tmp_path / "shared", folder, lost.append)
        refused = {"large", "passwd", os.fsdecode(b"odd\xff")}
        wait_for(lambda: {loss.values["node"] for loss in lost} >= refused, 60)
        hub.close()
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()
    open_record(folder, {})
    close_record(folder, {}, lost)
    told = json.loads(folder.record.read_text("utf-8"))["lost"]
    assert "root:" not in json.dumps(told)
    assert any("odd" in loss["text"] for loss in told)


class Line:
    """A carrier that a test can cut."""

    def __init__(self) -> None:
        self.is_cut = False
        self.beat = 0
        self.carried: list[object] = []

    def exchange(self, item: NodeReport) -> Instructions | None:
        self._check()
        self.carried.append(item.mono_s)
        self.beat += 1
        return Instructions(beat=self.beat)

    def put(self, name: str, data: bytes) -> None:
        self._check()
        self.carried.append(name)

    def mark(self, number: int, host: str) -> None:
        self.carried.append((number, host))

    def close(self) -> None:
        self.carried.append("closed")

    def _check(self) -> None:
        if self.is_cut:
            raise OSError("the cable is cut")


@pytest.mark.process
def test_what_could_not_be_sent_is_sent_later_the_newest_report_only(
    other: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhang.live.nodes.uplink._FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr("unhang.live.nodes.uplink._MOST_PAUSE_S", 0.02)
    monkeypatch.setattr("unhang.live.nodes.uplink._TROUBLE_S", -1.0)
    line, lost = Line(), list[Loss]()
    uplink = UplinkThread(line, other, "node1", lost.append)
    line.is_cut = True
    for mono_s in (1.0, 2.0, 3.0):
        uplink.send(report(mono_s=mono_s))
    uplink.deliver(2)
    wait_for(lambda: lost)
    assert (uplink.is_there, uplink.receive()) == (False, None)
    line.is_cut = False
    wait_for(lambda: (2, "node1") in line.carried)
    assert uplink.receive() is not None
    uplink.close(5)
    assert line.carried[-1] == "closed"
    reports = [item for item in line.carried if isinstance(item, float)]
    assert reports[-1] == 3.0
    assert "output/node1/stdout.log" in line.carried
    assert lost[0] == Loss.of("judge_unreachable", why="the cable is cut")


class Played:
    """An uplink, or a hub, that says what the test wants."""

    def __init__(self) -> None:
        self.told: Instructions | None = None
        self.sent: list[object] = []
        self.here: list[NodeReport] = []
        self.hosts: frozenset[str] = frozenset()
        self.is_there = True

    def send(self, item: NodeReport) -> None:
        self.sent.append(item)

    def receive(self) -> Instructions | None:
        return self.told

    def deliver(self, number: int) -> None:
        self.sent.append(number)

    def reports(self) -> list[NodeReport]:
        here, self.here = self.here, []
        return here

    def publish(self, instructions: Instructions) -> None:
        self.told = instructions

    def delivered(self, number: int) -> frozenset[str]:
        return self.hosts

    def close(self, wait_s: float = 0.0) -> None:
        self.sent.append("closed")


def test_a_follower_does_each_thing_once(monkeypatch: pytest.MonkeyPatch) -> None:
    uplink = Played()
    follower = Follower(uplink)
    assert follower.handle(report(), 0.0) == ()
    judged = SetTimeouts(mode="judge", limit_ms=5)
    uplink.told = first = Instructions(beat=1, dump=4, capture=4, abort="old", timeouts=judged)
    assert follower.handle(report(), 1.0) == (judged,), "older orders were for others"
    uplink.told = replace(first, beat=2, dump=5)
    assert follower.handle(report(), 2.0) == (OrderDump(number=5),)
    uplink.told = replace(first, beat=3, dump=5, capture=5, abort="new", interval_s=4.0)
    actions = follower.handle(report(), 3.0)
    assert actions[0] == Capture(dump=5)
    assert isinstance(actions[1], Abort)
    assert follower.handle(report(), 4.0) == ()
    assert follower.interval_s == 4.0
    assert follower.handle(OutputEnded(host="node1"), 5.0) == ()
    assert uplink.sent == [report()] * 5


class Script(Monitor):
    """A monitor that asks for what the test wants."""

    def __init__(self, *answers: tuple[Action, ...]) -> None:
        super().__init__()
        self.heard: list[Input] = []
        self._answers = list(answers)

    def handle(self, event: Input, now: float) -> tuple[Action, ...]:
        self.heard.append(event)
        return self._answers.pop(0) if self._answers else ()


def test_a_leader_tells_the_others_and_numbers_on_after_an_earlier_one() -> None:
    hub = Played()
    wanted = (OrderDump(number=1), Capture(dump=1), Abort(note=NOTE), SetTimeouts(mode="judge"))
    monitor = Script(wanted)
    leader = Leader(monitor, hub, earlier=6)
    hub.here = [report("node1")]
    actions = leader.handle(report("node0"), 50.0)
    assert actions[:2] == (OrderDump(number=7), Capture(dump=7))
    assert monitor.heard == [report("node0"), report("node1")]
    told = hub.told
    assert told is not None
    assert (told.dump, told.capture, told.timeouts.mode) == (7, 7, "judge")
    assert told.abort
    leader.handle(DumpsReady(number=7), 51.0)
    assert monitor.heard[-1] == DumpsReady(number=1)
    leader.handle(Tick(), 52.0)
    assert hub.told is not None
    assert hub.told.beat > told.beat
    assert (hub.told.dump, hub.told.abort) == (7, told.abort)


def test_an_end_that_the_answer_to_dumps_decides_reaches_the_others() -> None:
    """Nothing but that answer may come before the leader's own job is over, and it with it."""
    hub, uplink = Played(), Played()
    decided = (OrderDump(number=2), Capture(dump=2), Abort(note=NOTE))
    leader, follower = Leader(Script((), decided), hub), Follower(uplink)
    leader.handle(report("node0"), 1.0)
    uplink.told = hub.told
    assert follower.handle(report(), 1.5) == ()
    leader.handle(DumpsReady(number=1), 2.0)
    uplink.told = hub.told
    kinds = [type(action) for action in follower.handle(report(), 2.5)]
    assert kinds == [OrderDump, Capture, Abort]


def test_a_leader_waits_for_the_evidence_of_living_nodes_but_not_for_ever() -> None:
    hub = Played()
    leader = Leader(Script(), hub)
    hub.here = [report("node1"), report("node2")]
    leader.handle(Tick(), 0.0)
    hub.hosts = frozenset({"node1"})
    assert not leader.has_evidence(3, 1.0)
    hub.hosts = frozenset({"node1", "node2"})
    assert leader.has_evidence(3, 1.0)
    hub.hosts = frozenset()
    assert not leader.has_evidence(4, 2.0)
    assert leader.has_evidence(4, 60.0)
    assert Leader(Script()).has_evidence(1, 0.0), "alone"


class Broken(Monitor):
    """A monitor with a fault of its own."""

    def handle(self, event: Input, now: float) -> tuple[Action, ...]:
        raise KeyError("rank 7")


def test_a_judge_that_fails_judges_no_more_and_says_so() -> None:
    lost: list[Loss] = []
    leader = Leader(Broken(), lose=lost.append)
    assert leader.handle(report(), 1.0) == ()
    assert not leader.is_there, "so that the probes put the program's limits back"
    assert lost == [Loss.of("judge_failed", why="KeyError: 'rank 7'")]


def test_thousands_of_ranks_report_less_often(folder: RunFolder) -> None:
    leader = Leader(Script(), Played())
    assert leader.interval_s == 1.0
    leader._ranks = {f"node{n}": 8 for n in range(128)}
    assert leader.interval_s == 2.0
    leader._ranks = {f"node{n}": 8 for n in range(2_048)}
    assert leader.interval_s == 2.0, "reports that came later would all stand after a gap"


def test_a_standing_is_the_leaders_alone() -> None:
    assert isinstance(Leader(Monitor()).standing(1.0), JobSnapshot)
    assert Follower(Played()).standing(1.0) is None
