"""Patterns of the user's own: from the command line, from a file, and what is said of bad ones."""

from pathlib import Path

import pytest

from unhang.errors import UsageError
from unhang.redaction import Redactor, own_shapes


def test_a_pattern_of_the_users() -> None:
    redactor = Redactor(shapes=own_shapes([r"ACME-\d{4}", r"cluster (?P<value>\w+)"]))
    assert redactor.text("ACME-1234 on cluster blue") == (
        "[redacted pattern of yours] on cluster [redacted pattern of yours]"
    )
    assert redactor.counts == {"pattern of yours": 2}


def test_a_file_of_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rules.toml"
    file.write_text("[[shape]]\nkind = 'badge'\nneedles = ['BDG']\npattern = 'BDG\\d+'\n")
    assert Redactor(shapes=own_shapes(file=file)).text("x BDG77") == "x [redacted badge]"
    monkeypatch.setenv("UNHANG_REDACT_RULES", str(file))
    assert Redactor(shapes=own_shapes()).text("x BDG77") == "x [redacted badge]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[shape]]\npattern = '('\n", "pattern 1: this is not a regular expression"),
        ("[[shape]]\nkind = 'x'\n", "pattern 1: expected a regular expression"),
        ("shape = 3\n", "expected [[shape]] tables"),
        ("= 3\n", "expected TOML"),
    ],
)
def test_a_bad_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said.replace("[", r"\[")):
        own_shapes(file=file)


def test_a_bad_pattern_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a regular expression"):
        own_shapes(["("])
    with pytest.raises(UsageError, match="cannot read"):
        own_shapes(file=tmp_path / "none.toml")
