"""The JSON report keeps its published contract."""

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from support.diagnoses import EVERY, hostile, slow_save, stuck_call
from unhang.model.causes import Cause
from unhang.model.finding import Strength
from unhang.model.ids import Rank
from unhang.model.phases import Phase
from unhang.reporters.json import SCHEMA, as_dict, render


def published() -> dict[str, Any]:
    text = files("unhang.reporters").joinpath("schemas/diagnosis-1.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def closed(schema: Any) -> Any:
    """The schema without room for fields that it does not name: for our own output."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and "allOf" not in schema and "outcome" not in schema["properties"]:
        inner.setdefault("additionalProperties", False)
    return inner


@pytest.mark.parametrize("name", EVERY)
def test_output_keeps_the_schema(name: str) -> None:
    value = json.loads(render(EVERY[name]))
    jsonschema.Draft202012Validator(published()).validate(value)
    jsonschema.Draft202012Validator(closed(published())).validate(value)


def test_every_field_of_the_verdict_is_in_the_schema() -> None:
    schema = published()
    named = set(schema["$defs"]["verdict"]["properties"])
    assert set(as_dict(slow_save())) == named | {"schema"}
    assert set(schema["$defs"]["verdict"]["required"]) == named


def test_the_schema_is_valid_and_knows_the_model() -> None:
    schema = published()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema"]["const"] == SCHEMA
    assert schema["$defs"]["cause"]["enum"] == [cause.value for cause in Cause]
    assert schema["$defs"]["phase"]["enum"] == [phase.value for phase in Phase]
    assert schema["$defs"]["strength"]["enum"] == [strength.value for strength in Strength]


def test_the_fields_of_a_full_verdict() -> None:
    value = json.loads(render(slow_save()))
    assert value["cause"] == "checkpoint_slow"
    assert value["culprits"] == [0]
    assert value["victims"] == "1-3"
    assert value["call"] == {
        "op": "ALLREDUCE",
        "seq": 808,
        "group": "default_pg",
        "group_ranks": "0-3",
        "numel_in": 9_801_523,
        "numel_out": 9_801_523,
        "timeout_ms": 1_800_000,
        "elapsed_ms": 1_800_034,
        "joined": "1-3",
        "absent": "",
        "contents": [],
    }
    assert value["story"][0]["at"] == "10:02:11"
    assert value["story"][0]["evidence"]["line"] == 412
    assert value["versions"] == {"torch": {"value": "2.6.0", "basis": "ProcessGroupNCCL.cpp:629"}}
    assert value["stats"]["bytes"] == 1_536
    assert [earlier["cause"] for earlier in value["earlier"]] == ["gpu_oom"]


def test_who_timed_out_under_no_name_is_no_rank() -> None:
    call = stuck_call()
    unknown = replace(call, joins={Rank(2): call.joins[Rank(2)]}, unnamed=(call.joins[Rank(1)],))
    value = json.loads(render(replace(slow_save(), call=unknown)))
    assert value["call"]["joined"] == "2"


def test_hostile_text_comes_back_unharmed_and_does_nothing_to_a_terminal() -> None:
    text = render(hostile())
    assert all(char.isprintable() or char == "\n" for char in text)
    text.encode("utf-8")
    evidence = json.loads(text)["candidates"][0]["evidence"][0]
    assert "\x1b[2J" in evidence["text"]


def test_a_broken_surrogate_can_be_written() -> None:
    from unhang.reporters.json import dumps

    name = b"\xff.log".decode("utf-8", "surrogateescape")
    text = dumps({"artifact": name})
    text.encode("utf-8")
    assert json.loads(text) == {"artifact": name}
