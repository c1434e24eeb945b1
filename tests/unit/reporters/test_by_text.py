"""Every error that is raised can be said in every language of the catalogue."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import unhang
from support import chinese
from unhang.model.provenance import Problem
from unhang.reporters.catalogue import LANGUAGES
from unhang.reporters.catalogue.by_text import (
    comments,
    sentences,
    told,
    translated,
    translated_patch,
)

SOURCE = Path(unhang.__file__).parent
RAISED = {
    "ArtifactError",
    "BudgetSpent",
    "Damaged",
    "FaultError",
    "NoChange",
    "Refusal",
    "UnsafeArtifact",
    "UsageError",
    "_AsItIs",
}
SPOKEN = [language for language in LANGUAGES if language != "en"]
BARE = re.compile(r"[\W_]*(\{\}[\W_]*)*")


def template(node: ast.expr) -> str | None:
    """A sentence of the source, with `{}` for what it holds."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        return "".join(map(str, parts))
    if isinstance(node, ast.BinOp):
        left, right = template(node.left), template(node.right)
        return None if left is None or right is None else left + right
    return None


def raised() -> Iterator[str]:
    """The sentences of the errors that a user can meet, as they stand in the source."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in RAISED:
                text = template(node.args[0])
                if text is not None and not BARE.fullmatch(text):
                    yield text.removesuffix(".")


COMMAND = re.compile(r"https?://\S+|(nohup|gdb|docker|python|Docker: docker) .*")


def patches() -> Iterator[str]:
    """Every text of the remedies that may be part of a patch."""
    for path in sorted(SOURCE.joinpath("remedies").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        held = {id(part) for n in nodes if isinstance(n, ast.JoinedStr) for part in n.values}
        for node in nodes:
            if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in held:
                yield template(node) or ""
    for path in sorted(SOURCE.joinpath("settings", "data", "frameworks").glob("*.json")):
        yield from texts_of(json.loads(path.read_text(encoding="utf-8")))


def texts_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield "\n".join(value)
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_of(item)


def test_every_comment_of_a_patch_is_chinese() -> None:
    found = {text for patch in patches() for _, _, text in comments(patch) if text}
    assert len(found) > 100
    english = {text for text in found if translated(text, "zh") == text}
    assert [text for text in sorted(english) if not COMMAND.fullmatch(text)] == []


def test_a_comment_of_two_lines_is_one_text() -> None:
    patch = (
        "# The optimizer's state is two thirds of a checkpoint: keep it in every tenth only,\n"
        "# from which the job resumes. Under FSDP every rank calls state_dict(); under DDP rank 0\n"
        "# alone may.\nsave(step)  # minutes\n#SBATCH --mem=0\n  # no text of ours,\n  # nor this"
    )
    lines = translated_patch(patch, "zh").split("\n")
    assert lines[0].startswith("# 优化器状态占检查点的三分之二")
    assert lines[1] == "save(step)  # 分钟"
    assert lines[2:] == patch.split("\n")[4:]
    assert translated_patch(patch, "en") == patch


def test_sentences_are_found_in_the_source() -> None:
    assert len(set(raised())) > 250


@pytest.mark.parametrize("language", SPOKEN)
def test_every_error_has_a_translation(language: str) -> None:
    assert sorted(set(raised()) - set(sentences(language))) == []


@pytest.mark.parametrize("language", SPOKEN)
def test_a_translation_holds_what_the_sentence_holds(language: str) -> None:
    for english, text in sentences(language).items():
        holes = english.count("{}")
        numbered = re.findall(r"\{(\d*)\}", text)
        assert len(numbered) == holes, english
        if any(numbered):
            assert sorted(map(int, numbered)) == list(range(holes)), english


@pytest.mark.parametrize("language", SPOKEN)
def test_translations_are_of_the_language(language: str) -> None:
    strange = [e for e, t in sentences(language).items() if not re.search("[\u4e00-\u9fff]", t)]
    assert [
        english for english in strange if not BARE.fullmatch(sentences(language)[english])
    ] == []


def test_what_a_sentence_holds_is_said_too() -> None:
    text = "cannot write /out/a.json: Permission denied; name a file in a folder that exists"
    assert translated(text, "zh") == (
        "无法写入 /out/a.json：权限不足；请在已有的文件夹中指定一个文件"
    )
    assert translated(text, "en") == text


def test_sentences_of_one_kind_are_said_one_by_one() -> None:
    text = "; ".join(f"line {number} is not a call" for number in (3, 7))
    assert translated(text, "zh") == "第 3 行不是调用；第 7 行不是调用"


def test_reasons_of_several_files_are_translated_each() -> None:
    told = "a.sh, b.yaml cannot take any fix of the verdict. fix 1 (json): a.sh: it belongs in"
    told += " DeepSpeed's JSON; b.yaml: it does not look like a configuration of lightning"
    assert not chinese.english(translated(told, "zh"))
    assert translated("note: nobody knows this", "zh") == "note: nobody knows this"


def test_parts_can_change_places() -> None:
    text = "node 5 of 4 nodes does not exist: they count from 0; check --nodes and --node-rank"
    assert translated(text, "zh").startswith("4 个节点中没有节点 5")


def test_what_nobody_translated_stays() -> None:
    assert translated("zzz {0} qqq", "zh") == "zzz {0} qqq"


@pytest.mark.parametrize("held", ["{}", "{0}", "a; b", "", "x" * 30_000, "it does not parse" * 50])
def test_any_text_can_be_held(held: str) -> None:
    assert held[:50] in translated(f"cannot read {held}: {held}", "zh")


def test_a_problem_is_one_line() -> None:
    problem = Problem(artifact="a\nb", component="reader", message="passed over: empty")
    assert told(problem, "en") == "a b: passed over: empty"
    assert told(problem, "zh") == "a b：已跳过：空文件"


def test_a_long_text_that_is_nearly_a_sentence_costs_no_more_than_its_length() -> None:
    text = "; expected " + ": " * 9_000
    assert translated(text, "zh") == text
