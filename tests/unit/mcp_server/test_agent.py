"""A scripted agent that knows the skill page and nothing else solves the bundled incidents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="needs mcp: `make setup`")

import anyio
from mcp import Client, StdioServerParameters

from support.diagnoses import ranks
from unhang.model.ids import format_ranks
from unhang.model.toml import loads
from unhang.reporters.prompt import MOST_TOKENS, tokens

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases"
SKILL = (ROOT / "docs" / "agents.md").read_text("utf-8")
INCIDENTS = (
    *("demo", "stacks-save-on-rank-0", "exception-one-rank-log-dir-tree"),
    *("eval-on-rank-0-only", "desync-report-names-everybody", "rdma-link-flap"),
    *("hardware-ecc-error", "oom-one-rank-task-files", "stop-time-limit", "rendezvous-port-in-use"),
)


@dataclass(frozen=True)
class Solved:
    """What the agent did, and what it told its user."""

    calls: list[tuple[str, dict[str, Any]]]
    told: str
    answer: dict[str, Any]


def skill_tools() -> dict[str, list[str]]:
    """The table of the page: tools and their arguments."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", SKILL, re.MULTILINE)
    return {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}


def server() -> StdioServerParameters:
    """The server as the page configures it, with the incidents as its root."""
    [block] = re.findall(r"^```json\n(.*?)^```$", SKILL, re.MULTILINE | re.DOTALL)
    [entry] = json.loads(block)["mcpServers"].values()
    assert entry["command"] == "unhang"
    given = [str(CASES) if word == "/data/runs" else word for word in entry["args"]]
    return StdioServerParameters(command=sys.executable, args=["-m", "unhang", *given])


async def solve(client: Any, incident: str) -> Solved:
    """The steps of the page, by their numbers, for "my job failed, its folder is INCIDENT"."""
    steps = dict(re.findall(r"^(\d)\. (.*?)(?=^\d\. |^Log lines)", SKILL, re.MULTILINE | re.DOTALL))
    [tool] = re.findall(r"Call `(\w+)` with the \*folder\*", steps["1"])
    assert skill_tools()[tool][0] == "paths"
    calls = [(tool, {"paths": [f"{incident}/input"]})]
    answer = await client.call_tool(*calls[0])
    assert not answer.is_error, answer.content[0].text
    found, text = answer.structured_content, answer.content[0].text
    assert tokens(text) <= MOST_TOKENS
    assert {*re.findall(r"`(\w+)`", steps["2"].partition("\n")[0])} <= found.keys()
    told = [*quoted(found)]
    if found["outcome"] != "cause":
        told += [item["what"] for item in found["collect_next"]]
    for fix in found["fixes"][:1]:
        told.append(f"{fix['title']} (risk: {fix['risk']})")
        for variable in re.findall(r"\bNCCL_[A-Z_]+", fix["patch"])[:1]:
            calls.append(("explain", {"word": variable}))  # step 4
            page = await client.call_tool(*calls[-1])
            assert not page.is_error
            assert page.structured_content["name"] == variable
    for line in told[:1]:  # what it quotes stands in the text that the model reads
        assert str(line) in text.lower()
    return Solved(calls, "\n".join(map(str, told)), found)


def quoted(found: dict[str, Any]) -> Iterator[str]:
    """The verdict as it is."""
    yield found["cause"] or found["outcome"]
    yield f"culprits: ranks {format_ranks(ranks(*found['culprits']))}"
    if found["cause"] is not None:
        yield f"confidence: {round(found['confidence'] * 100)} %"


def test_the_page_names_the_tools_that_there_are_and_their_arguments() -> None:
    async def talk() -> Any:
        async with Client(server()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: {*tool.input_schema["properties"]} for tool in anyio.run(talk)}
    assert tools.keys() == skill_tools().keys()
    for name, arguments in skill_tools().items():
        assert {*arguments} <= tools[name], name


@pytest.mark.timeout(600)  # ten incidents, one after the other, by one server
def test_ten_of_ten_incidents_are_solved() -> None:
    async def talk() -> list[Solved]:
        async with Client(server()) as client:
            return [await solve(client, incident) for incident in INCIDENTS]

    solved = dict(zip(INCIDENTS, anyio.run(talk), strict=True))
    for incident, one in solved.items():
        expected = loads((CASES / incident / "expected.toml").read_text("utf-8"))
        accepted = expected.get("accept") or [expected["cause"]]
        first, guilty, *rest = one.told.split("\n")
        assert first in accepted, incident
        assert one.calls[0] == ("diagnose", {"paths": [f"{incident}/input"]})
        if expected.get("culprits"):
            assert guilty == f"culprits: ranks {format_ranks(ranks(*expected['culprits']))}"
        if one.answer["cause"] is not None:
            sure = re.fullmatch(r"confidence: (\d+) %", rest[0])
            assert sure is not None
            assert int(sure[1]) == round(one.answer["confidence"] * 100)
            assert rest[1:], f"{incident}: no fix to propose"
        else:
            assert rest, f"{incident}: nothing to collect"
