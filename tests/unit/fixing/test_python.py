"""Fixes in programs: one keyword changes, and everything else stays as it is written."""

import ast
from pathlib import Path

import pytest

import unhang
from unhang.errors import UsageError
from unhang.fixing.editors.python import append_item, calls, parse, set_argument, with_imports
from unhang.fixing.refusal import Refusal
from unhang.model.diagnosis import Diagnosis, Fix, FixKind, Outcome
from unhang.model.provenance import Message
from unhang.settings import find_framework, frameworks

NOTHING = Message(key="fix.verbatim", values={"text": ""})


def changed(text: str, call: str, *path: str, to: str) -> str:
    return set_argument(text, calls(parse(text), {call})[0], path, to)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(1)", "f(1, timeout=2)"),
        ("f()", "f(timeout=2)"),
        ('o = {"a": 1}\nf(b=3, **o)', 'o = {"a": 1, "timeout": 2}\nf(b=3, **o)'),
        ("o = dict(timeout=9)\nf(**o)", "o = dict(timeout=2)\nf(**o)"),
        ("f(a=1, timeout=9)", "f(a=1, timeout=2)"),
        ("f(\n    a=1,\n    b=2,\n)", "f(\n    a=1,\n    b=2,\n    timeout=2,\n)"),
        ("f(\r\n    a=1\r\n)", "f(\r\n    a=1,\r\n    timeout=2,\r\n)"),
        ("f(\n    a=1,  # why\n)", "f(\n    a=1,  # why\n    timeout=2,\n)"),
        ('f("größe", a=1)  # ü', 'f("größe", a=1, timeout=2)  # ü'),
    ],
)
def test_a_keyword_is_set_in_the_layout_of_the_others(before: str, after: str) -> None:
    assert changed(before, "f", "timeout", to="2") == after
    ast.parse(after)


def test_a_keyword_within_dictionaries() -> None:
    text = "f(config={'a': 1})\n"
    assert changed(text, "f", "config", "b", to="2") == "f(config={'a': 1, 'b': 2})\n"
    assert changed("f()\n", "f", "config", "b", to="2") == "f(config={'b': 2})\n"
    assert changed("f(config=dict(a=1))\n", "f", "config", "a", to="2") == "f(config=dict(a=2))\n"


@pytest.mark.parametrize("text", ["f(timeout=limit)", "f(**options)", "f(timeout=g(1))"])
def test_what_is_computed_is_left_to_its_author(text: str) -> None:
    with pytest.raises(Refusal, match="line 1"):
        changed(text, "f", "timeout", to="2")


def test_a_list_gets_one_item_more() -> None:
    text = "f(handlers=[a])"
    assert append_item(text, calls(parse(text), {"f"})[0], "handlers", "b") == "f(handlers=[a, b])"
    text = "f(handlers=known)"
    with pytest.raises(Refusal, match="computes `handlers`"):
        append_item(text, calls(parse(text), {"f"})[0], "handlers", "b")


def test_imports_stand_after_the_docstring_and_the_future() -> None:
    line = "from datetime import timedelta"
    assert with_imports('"""Doc."""\n', [line]) == f'"""Doc."""\n\n{line}\n'
    future = "from __future__ import annotations\nimport os\n"
    assert with_imports(future, [line]).splitlines()[2] == line
    assert with_imports(f"{line}\nx = 1\n", [line]) == f"{line}\nx = 1\n"


def limit(framework: str, key: str, seconds: int = 7_200) -> Fix:
    """The fix that sets a framework's timeout in a program."""
    knob = next(k for k in frameworks()[framework].timeouts if k.key == key)
    return Fix(
        title=NOTHING, kind=FixKind.PROBE, framework=framework, where=knob.where,
        patch=knob.write(seconds), reaches="default_pg", risk=NOTHING, verify=NOTHING,
    )  # fmt: skip


def cure(framework: str, remedy: str, number: int = 0) -> Fix:
    found = find_framework(framework)
    assert found is not None
    recipe = found.recipes[remedy][number]
    return Fix(
        title=NOTHING, kind=FixKind.CURE, framework=framework, where=recipe.form,
        patch=recipe.text, reaches="all ranks", risk=NOTHING, verify=NOTHING, remedy=remedy,
    )  # fmt: skip


def fixed(folder: Path, code: str, fix: Fix) -> str:
    path = folder / "train.py"
    path.write_text(code)
    verdict = Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(fix,))
    return unhang.fix([str(path)], verdict).after


ACCELERATE = limit("accelerate", "InitProcessGroupKwargs(timeout=)")
PLAIN = limit("torch", "init_process_group(timeout=)")
FSDP = limit("lightning", "FSDPStrategy(timeout=)")


@pytest.mark.parametrize(
    ("code", "fix", "line"),
    [
        (
            "def main():\n    a = Accelerator()\n",
            ACCELERATE,
            "    process_group = InitProcessGroupKwargs(timeout=timedelta(seconds=7200))",
        ),
        (
            "k = InitProcessGroupKwargs(timeout=timedelta(minutes=30))\na = Accelerator(x)\n",
            ACCELERATE,
            "k = InitProcessGroupKwargs(timeout=timedelta(seconds=7200))",
        ),
        (
            'dist.init_process_group("nccl")\n',
            PLAIN,
            'dist.init_process_group("nccl", timeout=timedelta(seconds=7200))',
        ),
        (
            "s = FSDPStrategy(auto_wrap_policy={Block})\n",
            FSDP,
            "s = FSDPStrategy(auto_wrap_policy={Block}, timeout=timedelta(seconds=7200))",
        ),
        (
            't = Trainer(strategy="fsdp", devices=8)\n',
            FSDP,
            "t = Trainer(strategy=FSDPStrategy(timeout=timedelta(seconds=7200)), devices=8)",
        ),
        (
            "s = FSDPStrategy(state_dict_type='full')\n",
            cure("lightning", "sharded_save"),
            's = FSDPStrategy(state_dict_type="sharded")',
        ),
        (
            "a = DataLoader(x, num_workers=16)\nb = DataLoader(y, num_workers=8)\n",
            cure("torch", "fewer_loaders"),
            "b = DataLoader(y, num_workers=4)",
        ),
    ],
)
def test_a_fix_is_written_into_the_program(tmp_path: Path, code: str, fix: Fix, line: str) -> None:
    after = fixed(tmp_path, code, fix)
    ast.parse(after)
    assert line in after.splitlines()
    if "timedelta" in line:
        assert "from datetime import timedelta" in after


@pytest.mark.parametrize(
    ("code", "fix", "why"),
    [
        ('init_process_group("nccl", timeout=timedelta(hours=3))\n', PLAIN, "already"),
        ("FSDPStrategy(timeout=timedelta(hours=limit))\n", FSDP, "computes"),
        ("DataLoader(x, num_workers=1)\n", cure("torch", "fewer_loaders"), "already 1"),
        ("DataLoader(x, num_workers=n)\n", cure("torch", "fewer_loaders"), "by hand"),
        ("a = Accelerator()\nb = Accelerator()\n", ACCELERATE, "2 places"),
        ("a = Accelerator(\n", ACCELERATE, "by hand"),
    ],
)
def test_what_would_go_the_wrong_way_is_refused(
    tmp_path: Path, code: str, fix: Fix, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        fixed(tmp_path, code, fix)


def test_a_constructor_takes_the_settings_of_its_framework(tmp_path: Path) -> None:
    fix = Fix(
        title=NOTHING, kind=FixKind.CURE, framework="trl", where="yaml",
        patch="per_device_train_batch_size: 4\ngradient_accumulation_steps: 2",
        reaches="all ranks", risk=NOTHING, verify=NOTHING, remedy="smaller_batch",
    )  # fmt: skip
    code = "c = SFTConfig(\n    'out',\n    per_device_train_batch_size=16,\n)\n"
    assert fixed(tmp_path, code, fix) == (
        "c = SFTConfig(\n    'out',\n    per_device_train_batch_size=8,\n"
        "    gradient_accumulation_steps=2,\n)\n"
    )


def test_a_file_of_another_kind_does_not_stop_the_others(tmp_path: Path) -> None:
    hosts, code = tmp_path / "hostfile", tmp_path / "train.py"
    hosts.write_text("a slots=8\n")
    code.write_text('init_process_group("nccl")\n')
    verdict = Diagnosis(outcome=Outcome.CAUSE, summary=NOTHING, fixes=(PLAIN,))
    done = unhang.fix([str(hosts), str(code)], verdict)
    assert [file.changed for file in done.files] == [False, True]
    with pytest.raises(UsageError, match="not of a known kind"):
        unhang.fix([str(hosts)], verdict)
