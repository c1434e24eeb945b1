"""Chinese says one word for one thing: the table in CONTRIBUTING.md says which, and which not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rehearsals import page

from unhang.model.toml import loads
from unhang.reporters.catalogue import by_text, sentences
from unhang.reporters.printable import headed

ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("docs/**/*.zh.md")), ROOT / "README.zh-CN.md"]
ROW = re.compile(r"^\| .* \| .* \| (.*) \|$", re.MULTILINE)
CHINESE = "[\u4e00-\u9fff]"
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def avoided() -> list[str]:
    """The words of the third column that no sentence says; those with a remark may stand."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Chinese words")[1]
    rows = ROW.findall(text.split("\n## ")[0])[1:]
    words = [word for row in rows for word in re.sub(r"、?[^、]* \(.*", "", row).split("、")]
    return [word.strip() for word in words if re.search(CHINESE, word)]


def said() -> Iterator[tuple[str, str]]:
    """Every Chinese text of the program and of the docs, with what finds it."""
    yield from sentences("zh").items()
    yield from by_text.sentences("zh").items()
    for command, texts in by_text.help_texts("zh").items():
        yield from ((f"{command} {name}", text) for name, text in texts.items())
    yield from loads(Path(page.__file__).with_name("chinese.toml").read_text("utf-8")).items()
    for path in PAGES:
        yield str(path.relative_to(ROOT)), CODE.sub("", path.read_text("utf-8"))


SAID = list(said())


def test_the_table_has_words() -> None:
    assert {"挂起", "通信器", "堆栈", "屏障"} <= set(avoided())


@pytest.mark.parametrize("word", avoided())
def test_nothing_says_a_word_that_has_a_better_one(word: str) -> None:
    assert [where for where, text in SAID if word in text] == []


@pytest.mark.parametrize(
    "wrong",
    [
        r"\d 分(?!钟|之|片|布|组|配)",  # minutes
        r"\{[^{}]*:m?s\} " + CHINESE,  # a duration ends with a Chinese word
        r"\b[Aa]ll ranks\b",
        "您",
        CHINESE + r"[,;:?!](?!\S*\})",  # marks of English between Chinese words
    ],
)
def test_durations_and_marks(wrong: str) -> None:
    assert [where for where, text in SAID if re.search(wrong, text)] == []


def test_labels_end_so_that_a_wide_colon_follows() -> None:
    tables = ("label.", "fact_name.", "stage_name.", "notify.label.")
    labels = {key: text for key, text in sentences("zh").items() if key.startswith(tables)}
    assert {key: text for key, text in labels.items() if not headed(text).endswith("：")} == {}
