"""Files, folders, patterns, archives, standard input: the good lines arrive."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import zstandard

from unhang.errors import ArtifactError, UsageError
from unhang.model.provenance import Problem
from unhang.sources import archives
from unhang.sources.artifact import Artifact
from unhang.sources.discover import discover
from unhang.sources.select import Wanted, select

LOG = b"step 1\nit exploded\nstep 2\n"
EXPLODED = (Wanted(needles=("exploded",)),)


def read(*paths: object) -> tuple[dict[str, list[str]], list[Problem]]:
    """The selected lines of every artifact, and all problems."""
    found: dict[str, list[str]] = {}
    problems: list[Problem] = []
    for item in discover([str(path) for path in paths]):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        lines = found.setdefault(item.name, [])
        try:
            for line, _ in select(item, EXPLODED):
                lines.append(line.text)
        except ArtifactError as error:
            problems.append(Problem(artifact=item.name, component="reader", message=str(error)))
    return found, problems


def tar_of(members: dict[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),  # as any other to the reader, and ten times as fast
    "zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def test_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b.log", "a.log", "deep/er/c.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(LOG)
    found, problems = read(tmp_path)
    assert [Path(name).name for name in found] == ["a.log", "b.log", "c.log"]
    assert set(map(tuple, found.values())) == {("it exploded",)}
    assert problems == []


def test_patterns_that_the_shell_left(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.log"):
        (tmp_path / name).write_bytes(LOG)
    assert len(read(tmp_path / "*.txt")[0]) == 2
    assert len(read(tmp_path / "**" / "*")[0]) == 3
    with pytest.raises(UsageError, match="no file matches"):
        read(tmp_path / "*.out")


def test_a_name_that_looks_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "log[1].txt").write_bytes(LOG)
    assert len(read(tmp_path / "log[1].txt")[0]) == 1


def test_what_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.log: no such file"):
        read(tmp_path / "nowhere.log")
    with pytest.raises(UsageError, match="nothing to read"):
        read(tmp_path)


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_compressed(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"job.log.{ending}"
    path.write_bytes(COMPRESSORS[ending](LOG))
    assert read(path) == ({str(path): ["it exploded"]}, [])


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_compressed_and_concatenated(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"job.log.{ending}"
    path.write_bytes(COMPRESSORS[ending](LOG) * 2)
    assert read(path)[0] == {str(path): ["it exploded"] * 2}


@pytest.mark.parametrize("ending", ["", *COMPRESSORS])
def test_tar(ending: str, tmp_path: Path) -> None:
    data = tar_of({"run/rank3.log": LOG, "run/x.pt": b"PK", "run/deep.log.gz": gzip.compress(LOG)})
    path = tmp_path / f"logs.tar.{ending}"
    path.write_bytes(COMPRESSORS[ending](data) if ending else data)
    found, problems = read(path)
    assert found == {
        f"{path}!run/rank3.log": ["it exploded"],
        f"{path}!run/deep.log.gz": ["it exploded"],
    }
    assert [p.message for p in problems] == ["passed over: not logs (data, images, program text)"]


def test_zip_and_nested(tmp_path: Path) -> None:
    inner = tar_of({"a.log": LOG, "in.zip": zip_of({"z.log": LOG})}, "w:gz")
    path = tmp_path / "logs.zip"
    path.write_bytes(zip_of({"b.log": LOG, "c.tgz": inner}))
    assert read(path) == (
        {
            f"{path}!b.log": ["it exploded"],
            f"{path}!c.tgz!a.log": ["it exploded"],
            f"{path}!c.tgz!in.zip!z.log": ["it exploded"],
        },
        [],
    )


def test_members_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "logs.tgz"
    path.write_bytes(tar_of({"a.log": LOG, "b.log": LOG + b"exploded again\n"}, "w:gz"))
    seen = []
    for item in discover([str(path)]):
        assert isinstance(item, Artifact)
        seen.append([[line.text for line, _ in select(item, EXPLODED)] for _ in range(3)])
    assert seen == [[["it exploded"]] * 3, [["it exploded", "exploded again"]] * 3]


def test_members_tell_their_rank(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar"
    path.write_bytes(tar_of({"run_x/attempt_1/3/stderr.log": LOG, "rank_7.log": LOG}))
    origins = [item.origin for item in discover([str(path)]) if isinstance(item, Artifact)]
    assert (origins[0].local_rank, origins[0].incarnation, origins[0].rank) == (3, 1, None)
    assert origins[1].rank == 7


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_cut_data_gives_what_is_readable(ending: str, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(1_500_000).hex().encode()
    path = tmp_path / f"job.log.{ending}"
    path.write_bytes(COMPRESSORS[ending](LOG + noise)[:-20_000])
    found, problems = read(path)
    assert found == {str(path): ["it exploded"]}
    assert len(problems) == (0 if ending == "zst" else 1)


@pytest.mark.parametrize("ending", COMPRESSORS)
def test_damaged_data_gives_what_is_readable(ending: str, tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(1_500_000).hex().encode()
    data = bytearray(COMPRESSORS[ending](LOG + noise))
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    path = tmp_path / f"job.log.{ending}"
    path.write_bytes(data)
    (tmp_path / "good.log").write_bytes(LOG)
    found, problems = read(tmp_path)
    assert found[str(tmp_path / "good.log")] == ["it exploded"]
    assert len(problems) == 1
    assert "damaged" in problems[0].message


@pytest.mark.parametrize(
    "data",
    [
        b"\x1f\x8b",
        b"\x1f\x8b" + bytes(300),
        b"BZh9" + bytes(300),
        b"\xfd7zXZ\x00" + bytes(300),
        b"\x28\xb5\x2f\xfd" + b"\xff" * 300,
        b"PK\x03\x04" + bytes(300),
        bytes(257) + b"ustar" + b"\xff" * 900,
        tar_of({"a.log": LOG * 1000})[:3000],
        zip_of({"a.log": LOG * 1000})[:-9],
    ],
)
def test_broken_archives_become_problems(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(data)
    (tmp_path / "good.log").write_bytes(LOG)
    found, problems = read(tmp_path)
    assert found[str(tmp_path / "good.log")] == ["it exploded"]
    assert all("\n" not in problem.message for problem in problems)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.log.zst"
    compressor = zstandard.ZstdCompressor(level=3)
    path.write_bytes(compressor.compress(LOG + bytes(200_000_000)))
    found, problems = read(path)
    assert found == {str(path): ["it exploded"]}
    assert "grows" in problems[0].message


def test_too_many_members_too_deep_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = archives.ArchiveLimits(members=3, depth=2, total_bytes=1_000)
    monkeypatch.setattr(archives.Budget, "__init__", lambda self: _small(self, limits))
    many = tmp_path / "many.tar"
    many.write_bytes(tar_of({f"{n}.log": LOG for n in range(9)}))
    found, problems = read(many)
    assert len(found) == 3
    assert "more than 3 members" in problems[0].message
    deep = tmp_path / "deep.log.gz"
    deep.write_bytes(gzip.compress(gzip.compress(gzip.compress(LOG))))
    with pytest.raises(UsageError, match="nested more than 2 deep"):
        read(deep)
    large = tmp_path / "large.tar"
    large.write_bytes(tar_of({"a.log": LOG, "b.log": LOG * 1000}))
    found, problems = read(large)
    assert len(found) == 1
    assert "GiB together" in problems[0].message


def _small(budget: archives.Budget, limits: archives.ArchiveLimits) -> None:
    budget.limits = limits
    budget.members = budget.total_bytes = budget.data_files = 0


@pytest.mark.parametrize("name", ["../evil.log", "/etc/evil.log", "a/../../evil.log"])
def test_members_outside_are_refused(name: str, tmp_path: Path) -> None:
    for path, data in (
        ("x.tar", tar_of({"a.log": LOG, name: LOG})),
        ("x.zip", zip_of({name: LOG})),
    ):
        (tmp_path / path).write_bytes(data)
    found, problems = read(tmp_path)
    assert list(found) == [f"{tmp_path / 'x.tar'}!a.log"]
    assert len([p for p in problems if "outside itself" in p.message]) == 2


def test_links_in_archives_are_not_followed(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        link = tarfile.TarInfo("a.log")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
        info = tarfile.TarInfo("b.log")
        info.size = len(LOG)
        tar.addfile(info, io.BytesIO(LOG))
    (tmp_path / "x.tar").write_bytes(buffer.getvalue())
    assert list(read(tmp_path)[0]) == [f"{tmp_path / 'x.tar'}!b.log"]


def test_an_encrypted_zip_says_so(tmp_path: Path) -> None:
    data = bytearray(zip_of({"a.log": LOG}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(UsageError, match="password"):
        read(tmp_path)


def test_what_is_no_log_is_counted_once(tmp_path: Path) -> None:
    for n in range(50):
        (tmp_path / f"model-{n}.safetensors").write_bytes(b"x" * 100)
        (tmp_path / f"state_{n}").write_bytes(b"\x80\x04\x95" + bytes(range(256)))
    (tmp_path / "train.py").write_bytes(b"raise RuntimeError('it exploded')")
    (tmp_path / "a.log").write_bytes(LOG)
    found, problems = read(tmp_path)
    assert list(found) == [str(tmp_path / "a.log")]
    (problem,) = problems
    assert "101 files passed over: not logs (data, images, program text)" in problem.message


def test_program_text_that_is_named_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(LOG)
    assert len(read(tmp_path / "train.py")[0]) == 1


@pytest.mark.process
def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        (tmp_path / "a.log").write_bytes(LOG)
        found, problems = read(tmp_path)
    assert list(found) == [str(tmp_path / "a.log")]
    assert "2 files passed over: pipes" in problems[0].message


def test_links_are_followed_but_nothing_is_read_twice(tmp_path: Path) -> None:
    run = tmp_path / "session_1"
    run.mkdir()
    (run / "a.log").write_bytes(LOG)
    (tmp_path / "session_latest").symlink_to(run)
    (run / "again").symlink_to(tmp_path)
    (run / "loop").symlink_to(run / "loop")
    found, problems = read(tmp_path, run / "a.log")
    assert len(found) == 1
    assert len(problems) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(LOG)
    (tmp_path / "b.log").write_bytes(LOG)
    (tmp_path / "b.log").chmod(0)
    found, problems = read(tmp_path)
    assert len(found) == 1
    assert "permission denied" in problems[0].message


def test_an_empty_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    with pytest.raises(UsageError, match="empty"):
        read(tmp_path / "a.log")


@pytest.mark.parametrize(
    "data",
    [
        ("\ufeff" + LOG.decode()).encode("utf-16-le"),
        LOG.decode().encode("utf-16"),
        LOG.decode().encode("utf-16-le"),
        LOG.decode().encode("utf-16-be"),
        b"\xef\xbb\xbf" + LOG,
        b"\xe9t\xe9 \xff\n" + LOG,
        bytes(100_000) + LOG,
        b"a\0b\n" + LOG,
        LOG.replace(b"\n", b"\r\n"),
    ],
)
def test_odd_encodings(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(data)
    found, problems = read(tmp_path)
    assert found == {str(tmp_path / "a.log"): ["it exploded"]}
    assert problems == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LOG))

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert read("-") == ({"<stdin>": ["it exploded"]}, [])


def test_empty_standard_input_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"")

    monkeypatch.setattr(sys, "stdin", Stdin())
    with pytest.raises(UsageError, match="standard input is empty"):
        read("-")


def test_remote(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    system.pipe({"/run/rank1.log": LOG, "/run/b.log.gz": gzip.compress(LOG), "/run/m.pt": b"x"})
    found, problems = read("memory://run")
    assert found == {
        "memory://run/b.log.gz": ["it exploded"],
        "memory://run/rank1.log": ["it exploded"],
    }
    assert len(problems) == 1
    assert len(read("memory://run/*.log")[0]) == 1
    with pytest.raises(UsageError, match="no such file"):
        read("memory://nowhere")
    with pytest.raises(UsageError, match="cannot be listed"):
        read("nosuchscheme://x")


@pytest.mark.process
def test_a_web_server(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/rank1.log").write_bytes(LOG)
    (tmp_path / "run/b.log.gz").write_bytes(gzip.compress(LOG))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/run/"
            for name in ("rank1.log", "b.log.gz"):
                assert read(url + name)[0] == {url + name: ["it exploded"]}
            assert set(read(url)[0]) == {url + "rank1.log", url + "b.log.gz"}
            with pytest.raises(UsageError, match="no such file"):
                read(url + "gone.log")
        finally:
            server.shutdown()
            serving.join()


def test_remote_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"unhang\[remote\]"):
        read("s3://bucket/run")
