"""Every sentence that the code yields exists in every language and fits its values."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.package import trees
from unhang.explaining import explain
from unhang.model.phases import Phase
from unhang.reporters.catalogue import LANGUAGES, manuals, own_sentences, sentences
from unhang.reporters.catalogue.wording import Wording
from unhang.rules import RULES
from unhang.settings.tables import Library, variables

TRANSLATIONS = [language for language in LANGUAGES if language != "en"]
KEY = re.compile(r"(?:[A-Z]{3}\d{3}|collect|event|fix|remedy|story|summary)(?:\.[\w-]+)+")
SPECIFICATION = re.compile(
    r",?(\.\d+f)?|ranks|every|ms|s|bytes|rate|ops|doing|phrase|\|[^|]+\|[^|]+"
)


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path, tree in trees().items():
        for node in ast.walk(tree):
            yield path, node


def imports(name: str, tree: ast.Module) -> bool:
    """Whether a module has the model's `say` or `Message`."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module in ("unhang.model.provenance", "unhang.model.rule")
        and any(alias.name == name for alias in node.names)
        for node in tree.body
    )


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Every call of `say` or `Message`."""
    for path, tree in trees().items():
        for node in ast.walk(tree) if imports(name, tree) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                yield path, node


def text_of(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def said() -> dict[str, str]:
    """What the code says itself, by key: `say("KEY", "sentence", …)`."""
    found: dict[str, str] = {}
    for path, call in calls("say"):
        key, english = (text_of(argument) for argument in call.args)
        assert key is not None, f"{path.name}:{call.lineno}"
        assert english is not None, f"{path.name}:{call.lineno}"
        assert found.setdefault(key, english) == english, f"{key} says two things"
    return found


SAID = said()
ENGLISH = {**own_sentences("en"), **SAID}


UNTRANSLATED: frozenset[str] = frozenset()
"""Codes of rules whose manual page has no translation yet; a list that only gets shorter."""


def manual_parts() -> set[str]:
    """The keys of what a translation of the manual pages has; references are not translated."""
    rules = (rule.code for rule in RULES if rule.code not in UNTRANSLATED)
    pages = [
        explain(word)
        for word in (*rules, *(name for library in Library for name in variables(library)))
    ]
    bodies = [m for page in pages for section in page.sections for m in section.body]
    keys = {m.key for m in (*bodies, *(page.summary for page in pages))}
    return {k for k in keys if k.startswith("manuals.") and not k.endswith(".references")}


MANUALS = {*manual_parts(), *(f"manuals.{rule.code}.row" for rule in RULES)}


def messages() -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    """Every `Message(key=…, values=…)` in the source: where, its key and its values."""
    for path, call in calls("Message"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        if "key" in given:
            yield f"{path.name}:{call.lineno}", given["key"], given.get("values")


def pattern(key: ast.JoinedStr) -> re.Pattern[str]:
    """What an f-string can become."""
    parts = [
        re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"[\w.-]+"
        for part in key.values
    ]
    return re.compile("".join(parts))


def fits(key: str, text: str) -> bool:
    """Whether a literal is the key, or its beginning (`lint.` + …)."""
    return key.startswith(text) if text.endswith(("_", ".")) else key == text


def names(template: str) -> set[str]:
    """The values that a sentence needs."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def given_names(values: ast.expr | None) -> set[str] | None:
    """The names in a literal dictionary; None where the source does not tell."""
    if values is None:
        return set()
    if not isinstance(values, ast.Dict):
        return None
    keys = [key.value for key in values.keys if isinstance(key, ast.Constant)]
    return {str(key) for key in keys} if len(keys) == len(values.keys) else None


def literals() -> Iterator[tuple[str, str]]:
    """Every text in the source, and where it stands."""
    for path, node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield f"{path.name}:{node.lineno}", node.value


def test_what_a_rule_says_stands_in_its_folder() -> None:
    homes = {rule.code: rule.check.__module__.split(".")[-2] for rule in RULES}
    foreign = [
        f"{path.name}: {key}"
        for path, call in calls("say")
        if (key := text_of(call.args[0]) or "")[:3].isupper() and key[3:6].isdigit()
        if homes.get(key.split(".")[0]) != path.parent.name
    ]
    assert foreign == []


def test_a_sentence_stands_in_one_place() -> None:
    assert SAID.keys() & own_sentences("en").keys() == set()


def test_every_key_in_the_source_has_a_sentence() -> None:
    missing = [
        f"{where}: {text}"
        for where, text in literals()
        if KEY.fullmatch(text) and not any(fits(key, text) for key in ENGLISH)
    ]
    assert missing == []


def test_every_topic_to_collect_has_its_sentences_and_values() -> None:
    wrong = []
    for path, node in nodes():
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "Collect.of"):
            continue
        topic, given = text_of(node.args[0]), {keyword.arg for keyword in node.keywords}
        keys = [f"collect.{topic}.{part}" for part in ("what", "how", "decides")]
        if topic is not None and None not in given:
            asked = [names(ENGLISH[key]) for key in keys if key in ENGLISH]
            if len(asked) < len(keys) or not all(need <= given for need in asked):
                wrong.append(f"{path.name}:{node.lineno}")
        elif topic is not None:
            wrong += [f"{path.name}: {key}" for key in keys if key not in ENGLISH]
    assert wrong == []


def test_every_key_made_of_parts_can_be_a_sentence() -> None:
    missing = [
        f"{where}: {ast.unparse(key)}"
        for where, key, _ in messages()
        if isinstance(key, ast.JoinedStr)
        and not any(pattern(key).fullmatch(text) for text in own_sentences("en").keys() | MANUALS)
    ]
    assert missing == []


def test_every_sentence_gets_the_values_that_it_needs() -> None:
    texts = own_sentences("en")
    wrong = []
    for where, key, values in messages():
        given = given_names(values)
        if given is None or not isinstance(key, ast.Constant) or key.value not in texts:
            continue
        lacking = names(texts[str(key.value)]) - given
        if lacking:
            wrong.append(f"{where}: {key.value!r} lacks {sorted(lacking)}")
    assert wrong == []


def test_what_the_code_says_gets_the_values_that_it_needs() -> None:
    # Without any value here it is a pattern, and `using` gives them; `**values` tells nothing.
    wrong = []
    for path, call in calls("say"):
        given = {keyword.arg for keyword in call.keywords}
        needed = names(text_of(call.args[1]) or "")
        if given and None not in given and given != needed:
            wrong.append(
                f"{path.name}:{call.lineno}: {sorted(needed)}, not {sorted(map(str, given))}"
            )
    assert wrong == []


def test_every_sentence_is_asked_for() -> None:
    stated = {text for _, text in literals()}
    beginnings = tuple(text for text in stated if KEY.fullmatch(text) and text.endswith("_"))
    patterns = {pattern(node) for _, node in nodes() if isinstance(node, ast.JoinedStr)}
    specific = [p for p in patterns if re.match(r"\w{3,}\\?\.|\[\\w\.-\]\+\\\.\w{3,}", p.pattern)]
    units = {key for key in sentences("en") if key.startswith("unit.")}
    unused = [
        key
        for key in sentences("en")
        if key not in stated | units
        and not key.startswith(beginnings)
        and not stated.issuperset(key.split(".", 1))
        and not any(p.fullmatch(key) for p in specific)
    ]
    assert unused == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_well_formed(language: str) -> None:
    for key, template in (ENGLISH if language == "en" else sentences(language)).items():
        for _, name, specification, _ in string.Formatter().parse(template):
            if name is not None:
                assert name.isidentifier(), key
                assert SPECIFICATION.fullmatch(specification or ""), key
        if key.startswith("unit."):
            continue
        parts = string.Formatter().parse(template)
        values = {n: "save" if spec == "doing" else 3 for _, n, spec, _ in parts if n is not None}
        text = Wording(sentences(language)).vformat(template, (), values)
        assert text.strip(), key
        assert text.isprintable(), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phase_of_work_can_be_told(language: str) -> None:
    told = {k.removeprefix("unit.doing_") for k in sentences(language) if "unit.doing_" in k}
    assert told == {phase.value for phase in Phase}


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_a_translation_uses_the_values_of_the_english_sentence(language: str) -> None:
    for key, template in own_sentences(language).items():
        assert names(template) <= names(ENGLISH[key]), key


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_a_translation_says_everything_and_nothing_else(language: str) -> None:
    translated = own_sentences(language).keys()
    assert ENGLISH.keys() - translated == set()
    assert translated - ENGLISH.keys() == set()


@pytest.mark.parametrize("language", TRANSLATIONS)
def test_every_manual_page_is_translated_part_by_part(language: str) -> None:
    translated = {
        f"manuals.{code}.{name}" for code, page in manuals(language).items() for name in page
    }
    assert manual_parts() - translated == set()
    assert translated - manual_parts() == set()
