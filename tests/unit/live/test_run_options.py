"""From what the user typed to a request, or to a sentence why not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from unhang.errors import UsageError
from unhang.live.messages.request import RunRequest, Timeouts
from unhang.live.nodes.addresses import TOKEN, address_of, check_collector
from unhang.live.nodes.membership import Nodes, nodes_of
from unhang.live.run_options import (
    RunOptions,
    ask,
    claim_folder,
    host_label,
    label_of,
    read_patience,
    read_timeouts,
    wanted_folder,
)
from unhang.reporters.style import Style


def options(out: Path, **more: object) -> RunOptions:
    plain: dict[str, object] = {
        "words": ("true",),
        "out": str(out),
        "timeouts": "keep",
        "on_hang": "report",
        "patience": "auto",
        "notify": (),
        "nodes": None,
        "node_rank": None,
        "collector": None,
        "shared": None,
        "style": Style(),
    }
    return RunOptions(**(plain | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "limit_ms"),
    [
        ("2h", 7_200_000),
        ("90m", 5_400_000),
        ("1h30m", 5_400_000),
        ("45s", 45_000),
        ("600", 600_000),
    ],
)
def test_durations(text: str, limit_ms: int) -> None:
    assert read_timeouts(text) == Timeouts("fixed", limit_ms)


def test_what_the_probes_are_told() -> None:
    assert [str(read_timeouts(text)) for text in ("keep", "judge", "2h")] == [
        "keep",
        "judge",
        "7200",
    ]


@pytest.mark.parametrize("text", ["", "0", "soon", "2h later", "-5", "h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time limit"):
        read_timeouts(text)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"words": ("no-such-launcher",)}, "there is no command"),
        ({"on_hang": "explode"}, "--on-hang 'explode' is unknown"),
        ({"on_hang": "exec:"}, "is unknown"),
        ({"notify": ("nonsense",)}, "--notify"),
        ({"nodes": 2, "node_rank": 2}, "node 2 of 2 nodes does not exist"),
        ({"collector": "node0:80"}, "is not an address"),
    ],
)
def test_unusable_wishes_are_refused_before_anything_is_made(
    more: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=sentence):
        ask(options(tmp_path / "run", **more))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="name another one with --out"):
        claim_folder(tmp_path / "file" / "run")


def test_folders_are_claimed_once(tmp_path: Path) -> None:
    claimed = [claim_folder(tmp_path / "run") for _ in range(3)]
    assert [str(folder.relative_to(tmp_path)) for folder in claimed] == [
        "run",
        "run/run-2",
        "run/run-3",
    ]


def test_a_folder_that_all_may_write_gets_one_within_for_the_run(tmp_path: Path) -> None:
    open_to_all = tmp_path / "data"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    claimed = claim_folder(open_to_all)
    assert claimed == open_to_all / "run-2"
    assert claimed.stat().st_mode & 0o777 == 0o700
    assert not (open_to_all / "run.json").exists()


def test_a_claim_to_a_name_that_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    os.mkfifo(tmp_path / "names" / "node1")
    assert label_of("node1", 0, str(tmp_path), None) == "node1"


def test_nodes_with_one_disk_do_not_share_a_folder(tmp_path: Path) -> None:
    assert wanted_folder(str(tmp_path), "torchrun", 0) == tmp_path
    assert wanted_folder(str(tmp_path), "torchrun", 3) == tmp_path / "node-3"
    assert wanted_folder(None, "/opt/bin/torch run", 0).name.endswith("-torch-run")


def test_a_request_crosses_a_pipe(tmp_path: Path) -> None:
    request = ask(options(tmp_path / "run", timeouts="2h", shared=str(tmp_path / "all"), nodes=2))
    assert RunRequest.from_json(request.to_json()) == request


def test_a_host_name_is_fit_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNHANG_HOST", "../gpu 07")
    assert "/" not in host_label()
    assert " " not in host_label()


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ("torchrun --nnodes 4 --node-rank 2 train.py", {}, Nodes(4, 2)),
        ("torchrun --nnodes=1:4 --node_rank=3 train.py", {}, Nodes(4, 3)),
        ("accelerate launch --num_machines 2 --machine_rank 1 t.py", {}, Nodes(2, 1)),
        ("torchrun train.py", {"SLURM_NNODES": "8", "SLURM_NODEID": "5"}, Nodes(8, 5)),
        ("torchrun --nnodes 2 t.py", {"SLURM_NNODES": "8", "SLURM_NODEID": "1"}, Nodes(2, 1)),
        ("torchrun --nnodes $N t.py", {}, Nodes(None, 0)),
        ("python train.py", {}, Nodes(None, 0)),
    ],
)
def test_nodes_are_read_from_the_words_then_from_slurm(
    words: str, variables: dict[str, str], expected: Nodes
) -> None:
    assert nodes_of(words.split(), variables) == expected


def test_what_the_user_says_of_the_nodes_goes_first() -> None:
    assert nodes_of(["torchrun", "--nnodes", "4"], {}, count=2, rank=1) == Nodes(2, 1)


def test_addresses_of_collectors() -> None:
    assert address_of("http://node0:29777") == ("node0", 29777)
    for wrong in ("ftp://node0:1", "node0", "http://node0", "http://node0:x", "http://a:1/b"):
        with pytest.raises(UsageError, match="is not an address"):
            address_of(wrong)


@pytest.mark.process
def test_a_collector_needs_a_secret_and_a_free_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    with pytest.raises(UsageError, match=f"export {TOKEN}="):
        check_collector("http://127.0.0.1:29777", first=False)
    monkeypatch.setenv(TOKEN, "secret")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        check_collector(address, first=False)
        with pytest.raises(UsageError, match="nobody can listen"):
            check_collector(address, first=True)


def test_two_nodes_of_one_name_are_told_apart_in_a_shared_folder(tmp_path: Path) -> None:
    shared = str(tmp_path / "all")
    assert label_of("vm", 0, shared, None) == "vm"
    assert label_of("vm", 1, shared, None) == "vm-1"
    assert label_of("vm", 0, shared, None) == "vm", "the same node, started again"
    assert label_of("gn7", 2, shared, None) == "gn7"
    assert label_of("gn7", 2, shared, None) == "gn7", "the same node, started again"
    assert label_of("gn7", 0, shared, None) == "gn7-0", "another one was first"


@pytest.mark.process
def test_a_second_node_on_the_host_of_the_collector_gets_a_name_of_its_own() -> None:
    assert label_of("vm", 1, None, "http://127.0.0.1:8766") == "vm-1"
    assert label_of("vm", 0, None, "http://127.0.0.1:8766") == "vm"
    assert label_of("vm", 1, None, "http://192.0.2.7:8766") == "vm"


@pytest.mark.parametrize(("text", "seconds"), [("auto", None), ("300", 300.0), ("10m", 600.0)])
def test_patience_is_a_duration_or_ours(text: str, seconds: float | None) -> None:
    assert read_patience(text) == seconds


@pytest.mark.parametrize("text", ["0", "-1", "soon", ""])
def test_what_is_no_patience_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--patience"):
        read_patience(text)
