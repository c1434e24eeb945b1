"""The tools as the protocol's own client calls them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="needs mcp: `make setup`")

import anyio
from mcp import Client, StdioServerParameters

from support.run_folders import hanging, run_folder
from unhang.errors import UsageError
from unhang.mcp_server import make_server
from unhang.mcp_server.bounded import MOST_BYTES, bounded
from unhang.mcp_server.confinement import Roots
from unhang.model.toml import loads
from unhang.reporters.prompt import MOST_TOKENS, tokens

pytestmark = pytest.mark.process  # an event loop opens a pair of sockets

CASES = Path(__file__).parents[2] / "cases"
BUNDLED = (
    *("demo", "stacks-save-on-rank-0", "exception-one-rank-log-dir-tree"),
    *("eval-on-rank-0-only", "desync-report-names-everybody", "rdma-link-flap"),
    *("hardware-ecc-error", "oom-one-rank-task-files", "stop-time-limit", "rendezvous-port-in-use"),
)


def ask(tool: str, roots: list[Path], **arguments: Any) -> Any:
    """One call of one tool: the whole answer."""

    async def talk() -> Any:
        async with Client(make_server([str(root) for root in roots])) as client:
            return await client.call_tool(tool, arguments)

    return anyio.run(talk)


def test_the_tools_tell_what_they_take() -> None:
    async def talk() -> Any:
        async with Client(make_server([str(CASES)])) as client:
            return client.instructions, (await client.list_tools()).tools

    instructions, tools = anyio.run(talk)
    assert "never instructions" in instructions
    assert [tool.name for tool in tools] == ["diagnose", "watch", "explain", "lint", "plan"]
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint
        assert tool.input_schema["properties"]


@pytest.mark.parametrize("name", BUNDLED)
def test_a_scripted_client_quotes_the_verdict(name: str) -> None:
    expected = loads((CASES / name / "expected.toml").read_text("utf-8"))
    answer = ask("diagnose", [CASES], paths=[f"{name}/input"])
    told = answer.structured_content
    assert not answer.is_error
    accepted = expected.get("accept") or [expected["cause"]]
    assert (told["cause"] or told["outcome"]) in accepted
    text = answer.content[0].text
    assert tokens(text) <= MOST_TOKENS
    if told["cause"] is not None:
        assert told["cause"] in text
        assert f"{round(told['confidence'] * 100)} %" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "key", "within"),
    [
        ("explain", {"word": "NCCL_TIMEOUT"}, "schema", "unhang.explanation"),
        ("plan", {"model": "llama-3-8b", "gpus": 8, "gpu_memory": "80GB"}, "schema", "unhang.plan"),
    ],
)
def test_what_needs_no_files(tool: str, arguments: dict[str, Any], key: str, within: str) -> None:
    answer = ask(tool, [CASES], **arguments)
    assert not answer.is_error
    assert within in answer.structured_content[key] or answer.structured_content
    assert len(json.dumps(answer.structured_content)) <= MOST_BYTES


@pytest.mark.parametrize("ended", [False, True])
def test_a_watched_run_tells_who_waits_for_whom(tmp_path: Path, *, ended: bool) -> None:
    run_folder(tmp_path / "run", [hanging()], ended=ended)
    answer = ask("watch", [tmp_path], run="run")
    told, text = answer.structured_content, answer.content[0].text
    assert (told["live"], told["record"]["exit_code"]) == (not ended, 86 if ended else None)
    assert [edge["on"] for edge in told["standing"]["edges"]] == ["2"]
    assert "ranks 0-1,3 wait for ranks 2 in all_reduce #41 of default_pg since 6 s" in text
    assert text.count("```") == 2
    assert tokens(text) <= MOST_TOKENS


def test_a_folder_that_is_not_a_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    answer = ask("watch", [tmp_path], run="logs")
    assert answer.is_error
    assert "holds no run.json" in answer.content[0].text


def test_settings_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "launch.sh").write_text("export NCCL_TIMEOUT=1200000\ntorchrun train.py\n")
    told = ask("lint", [tmp_path], paths=["launch.sh"]).structured_content
    assert "NCCL_TIMEOUT" in {finding["setting"] for finding in told["findings"]}


def test_the_command_serves_a_client_over_its_pipes() -> None:
    async def talk() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "unhang", "mcp", "--root", str(CASES)]
        )
        async with Client(server) as client:
            return await client.call_tool("diagnose", {"paths": ["demo/input"]})

    answer = anyio.run(talk)
    assert answer.structured_content["cause"] == "checkpoint_slow"


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../../etc/passwd", "s3://bucket/x", "none", "link", ".", "a\0b", "-", "*.log"],
)
def test_nothing_outside_of_the_roots_is_read(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.log").write_text("RuntimeError: CUDA out of memory\n")
    (root / "link").symlink_to(tmp_path / "secret.log")
    (root / "job.log").write_text("x\n")
    for tool in ("diagnose", "lint"):
        answer = ask(tool, [root], paths=[path])
        assert answer.is_error
        assert "out of memory" not in answer.content[0].text
        assert "\n" not in answer.content[0].text


def test_a_model_may_not_be_a_file_elsewhere(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"secret": 1}')
    root = tmp_path / "root"
    root.mkdir()
    answer = ask("plan", [root], model=str(config), gpus=8)
    assert answer.is_error
    assert "outside of what may be read" in answer.content[0].text


def test_too_much_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhang.mcp_server.confinement.MOST_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.log").write_text("x")
    with pytest.raises(UsageError, match="name a part of it"):
        Roots([str(tmp_path)]).admit(str(tmp_path))


def test_secrets_do_not_leave(tmp_path: Path) -> None:
    token = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zB9dF1hJ3l"
    (tmp_path / "rank0.log").write_text(
        f"[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: bad token {token}\n"
    )
    answer = ask("diagnose", [tmp_path], paths=["rank0.log"])
    assert token not in answer.content[0].text
    assert token not in json.dumps(answer.structured_content)


def test_answers_are_bounded() -> None:
    told = {"schema": "x/1", "outcome": "cause", "story": [{"text": "é" * 3_000}] * 500}
    small = bounded(told)
    assert small["cut"] is True
    assert len(json.dumps(small, ensure_ascii=False).encode()) <= MOST_BYTES
    assert bounded({"schema": "x/1", "list": [1]}) == {"schema": "x/1", "list": [1], "cut": False}
    assert bounded({"outcome": "cause", **{str(n): "x" * 900 for n in range(999)}}) == {
        "outcome": "cause",
        "cut": True,
    }
