"""Logs in stores and on servers are read where they lie, and their jobs are found there."""

from __future__ import annotations

import io
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import unhang
from unhang import UsageError
from unhang.model.causes import Cause
from unhang.model.fleet import Fleet
from unhang.sources import remote
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover

fsspec = pytest.importorskip("fsspec")

CASES = Path(__file__).parents[2] / "cases"
OOM = (
    "2026-11-01 10:00:00 node1 [rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to"
    " allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.\n"
)
FINE = "2026-11-02 10:00:00 step 1 loss 2.5\n2026-11-02 12:00:00 training finished\n"


@pytest.fixture
def store() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def look(root: str, kept: Path) -> Fleet:
    return unhang.fleet(root, store=str(kept), processes=1)


def test_the_jobs_of_a_fleet_are_found_and_judged_there(store: Any, tmp_path: Path) -> None:
    files = {"slurm-100.out": OOM, "slurm-101.out": FINE, "run/rank0.log": OOM, "run/rank1.log": ""}
    for name, text in files.items():
        store.pipe(f"/jobs/{name}", text.encode())
        (tmp_path / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "logs" / name).write_text(text)
    here = look(str(tmp_path / "logs"), tmp_path / "here")
    there = look("memory://jobs", tmp_path / "there")
    assert [job.name for job in there.jobs] == ["100", "101", "run"]
    assert [(j.name, j.cause, j.error, j.hosts) for j in there.jobs] == [
        (j.name, j.cause, j.error, j.hosts) for j in here.jobs
    ]
    assert there.jobs[0].paths == ("memory://jobs/slurm-100.out",)
    assert look("memory://jobs/", tmp_path / "there").judged == 0
    store.pipe("/jobs/slurm-101.out", OOM.encode())
    assert look("memory://jobs", tmp_path / "there").judged == 1


def test_a_pattern_of_folders_is_a_fleet_as_well(store: Any, tmp_path: Path) -> None:
    for name in ("ann/a/slurm-1001.out", "ben/a/slurm-1002.out", "ben/b/slurm-1003.out"):
        store.pipe(f"/team/{name}", FINE.encode())
    found = unhang.fleet("memory://team/*/a/*", store=str(tmp_path / "s"), processes=1, depth=5)
    assert [job.name for job in found.jobs] == ["ann/a/1001", "ben/a/1002"]


def test_what_is_one_file_there_is_no_fleet(store: Any, tmp_path: Path) -> None:
    store.pipe("/jobs/slurm-100.out", OOM.encode())
    with pytest.raises(UsageError, match=r"slurm-100\.out is not a folder"):
        look("memory://jobs/slurm-100.out", tmp_path)
    with pytest.raises(UsageError, match="no such file or folder"):
        look("memory://gone", tmp_path)


def test_a_url_of_this_machine(tmp_path: Path) -> None:
    shutil.copytree(CASES / "demo/input", tmp_path / "logs/demo")
    there = look(f"file://{tmp_path}/logs", tmp_path / "there")
    here = look(str(tmp_path / "logs"), tmp_path / "here")
    assert [(j.name, j.summary) for j in there.jobs] == [(j.name, j.summary) for j in here.jobs]


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for ask in (lambda: unhang.diagnose("s3://a/b"), lambda: look("s3://a/b", tmp_path)):
        with pytest.raises(UsageError, match=r"s3://a/b: .*pip install 'unhang\[remote\]'"):
            ask()


class _Fails:
    """A store whose streams, until one is healthy, fail after some reads."""

    def __init__(self, data: bytes, *, seeks: bool, reads: int = 1, healthy: int = 3) -> None:
        self.data, self.seeks, self.reads, self.healthy = data, seeks, reads, healthy
        self.tries = 0

    def open(self, _path: str, _mode: str) -> io.BytesIO:
        self.tries += 1
        owner, reads = self, 0

        class Stream(io.BytesIO):
            def read(self, size: int | None = -1) -> bytes:
                nonlocal reads
                reads += 1
                if owner.tries < owner.healthy and reads > owner.reads:
                    raise ConnectionResetError("reset by peer")
                return super().read(size)

            def seekable(self) -> bool:
                return owner.seeks

        return Stream(self.data)


@pytest.mark.parametrize("seeks", [True, False])
def test_a_read_that_fails_is_tried_again_where_it_was(
    seeks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_WAITS_S", (0.0, 0.0))
    data = bytes(range(256)) * 40
    system = _Fails(data, seeks=seeks)
    with remote._Opener(system, "a")() as stream:
        assert b"".join(iter(lambda: stream.read(1_000), b"")) == data
    assert system.tries == 3


def test_what_fails_for_good_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_WAITS_S", (0.0, 0.0))
    system = _Fails(b"x" * 4_000, seeks=True, reads=0, healthy=99)
    with remote._Opener(system, "a")() as stream, pytest.raises(OSError, match="reset by peer"):
        list(iter(lambda: stream.read(1_000), b""))


@pytest.mark.process
def test_a_server_that_breaks_off_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(remote, "_WAITS_S", (0.0, 0.0))
    text = (OOM * 20).encode()
    asked = 0

    class Server(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(b"")

        def do_GET(self) -> None:
            nonlocal asked
            asked += 1
            self._answer(text[: len(text) // 2] if asked == 2 else text)

        def _answer(self, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = True

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/slurm-1.out"
            found = list(discover([url]))
            verdict = unhang.diagnose(url)
        finally:
            server.shutdown()
    assert [item.name for item in found if isinstance(item, Artifact)] == [url]
    assert verdict.cause == Cause.GPU_OOM
    assert verdict.problems == ()
