"""A framework is known by its data file alone, and its rows are read from released packages."""

import ast

import pytest

from support.package import PACKAGE, trees
from unhang.settings import frameworks
from unhang.settings.frameworks import find_framework, find_knob
from unhang.settings.knobs import KnobChange, NoChange, conflicts, lacks, same, work_out

GENERIC = {
    "torch",
    "ray",
    "composer",
    "transformers",
    "accelerate",
    "lightning",
    "deepspeed",
    "trl",
}
"""Names of libraries, too: packages whose frames and versions are read, programs that launch."""

LIBRARIES = {
    "capturing/processes.py",
    "checking/on_ray.py",
    "engine/on_ray.py",
    "engine/shards.py",
    "live/run_folder/local_scratch.py",
    "live/host/scratch.py",
    "model/events/process.py",
    "parsers/endings.py",
    "parsers/versions.py",
    "parsers/vocabulary/exceptions.py",
    "probe/arrival.py",
    "assemble/ties.py",
}
"""Files that list programs or packages of a system, whatever they train with."""


def literals(tree: ast.Module) -> set[str]:
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is str}


def test_no_framework_is_written_in_python() -> None:
    trains = [f for f in frameworks().values() if f.recipes]
    names = {f.name for f in trains} | {alias for f in trains for alias in f.aliases}
    for path, tree in trees().items():
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(("lab/", "callbacks/")) or place in LIBRARIES:  # each of one framework
            continue
        allowed = {"torch"} | (
            GENERIC if place.startswith(("parsers/", "live/", "probe/")) else set()
        )
        found = literals(tree) & (names - allowed)
        assert not found, f"{place} names {found}: say it in settings/data/frameworks"


def test_the_outermost_framework_comes_first() -> None:
    order = list(frameworks())
    wrapped = ("open-r1", "trl", "transformers", "accelerate")
    assert sorted(wrapped, key=order.index) == list(wrapped)
    assert order.index("llama-factory") < order.index("deepspeed")
    assert order.index("verl") < order.index("ray")


def test_only_frameworks_with_recipes_answer_to_their_names() -> None:
    assert find_framework("pytorch-lightning") is frameworks()["lightning"]
    assert find_framework("colossalai") is None


def test_a_member_of_a_family_has_its_own_defaults() -> None:
    trl = find_knob("trl", "gradient_checkpointing")
    trainer = find_knob("transformers", "ddp_timeout")
    assert trl is not None
    assert trl.default_in("1.16.0") is True
    assert trainer is not None
    assert trainer.default_in(None) == 1_800
    swift = find_knob("ms-swift", "ddp_timeout")
    assert swift is not None
    assert swift.default_in(None) == 18_000_000


@pytest.mark.parametrize(
    ("framework", "key", "version", "known"),
    [
        ("torchtitan", "validator.freq", "0.3.0", True),
        ("torchtitan", "validator.freq", "0.2.2", False),
        ("torchtitan", "validation.freq", "0.3.0", False),
        ("openrlhf", "ckpt.save_steps", "0.10.4", True),
        ("openrlhf", "ckpt.save_steps", "0.9.10", False),
        ("transformers", "save_safetensors", "5.0.0", False),
        ("axolotl", "dataset_num_proc", "0.13.0", True),
    ],
)
def test_rows_by_release(framework: str, key: str, version: str, known: bool) -> None:
    knob = frameworks()[framework].knobs[key]
    assert knob.known_in(version) is known


def nothing(_: str) -> None:
    return None


@pytest.mark.parametrize(
    ("change", "present", "default", "new"),
    [
        (KnobChange(key="k", times=4), None, 500, 2_000),
        (KnobChange(key="k", times=4), "5000", 500, 20_000),
        (KnobChange(key="k", times=0.5, least=1), "3", 8, 1),
        (KnobChange(key="k", times=2, least=4, most=16), "0", 0, 4),
        (KnobChange(key="k", times=2, least=4, most=16), None, 0, 4),
        (KnobChange(key="k", times=2, least=4, most=16), "12", 0, 16),
        (KnobChange(key="k", times=0.8, digits=2), "0.3", 0.5, 0.24),
        (KnobChange(key="k", times=0.25, least=1, when_off=20), "-1", -1, 20),
        (KnobChange(key="k", constant=True, to=False), "True", None, False),
    ],
)
def test_a_value_is_computed_from_the_one_in_force(
    change: KnobChange, present: str | None, default: object, new: object
) -> None:
    assert work_out(change, present, default, nothing) == {"k": new}


@pytest.mark.parametrize(
    ("change", "present", "default"),
    [
        (KnobChange(key="k", times=0.5, least=1), "1", 8),
        (KnobChange(key="k", times=2, least=4, most=16), "16", 0),
        (KnobChange(key="k", times=2, least=4, most=16), "64", 0),
        (KnobChange(key="k", times=4), "-1", 500),
        (KnobChange(key="k", times=4), "auto", 500),
        (KnobChange(key="k", times=0.5, least=1), None, None),
        (KnobChange(key="k", constant=True, to=True), "True", None),
        (KnobChange(key="k", constant=True, to=False), None, False),
        (KnobChange(key="k", constant=True, to=["a", "b"]), "[b, a]", None),
    ],
)
def test_where_it_would_go_nowhere_there_is_no_change(
    change: KnobChange, present: str | None, default: object
) -> None:
    with pytest.raises(NoChange):
        work_out(change, present, default, nothing)


@pytest.mark.parametrize(
    ("batch", "steps", "expected"), [(8, 2, (4, 4)), (3, 1, (1, 3)), (5, 2, (2, 5))]
)
def test_the_effective_batch_never_shrinks(
    batch: int, steps: int, expected: tuple[int, int]
) -> None:
    change = KnobChange(key="b", times=0.5, least=1, keeps="s")
    new = work_out(change, str(batch), None, lambda _: str(steps))
    assert (new["b"], new["s"]) == expected
    assert new["b"] * new["s"] >= batch * steps


def test_other_settings_forbid_a_knob() -> None:
    steps = frameworks()["axolotl"].knobs["eval_steps"]
    assert "evals_per_epoch" in (conflicts(steps, {"evals_per_epoch": "4"}.get) or "")
    assert conflicts(steps, nothing) is None
    sharded = frameworks()["axolotl"].knobs["fsdp_config.state_dict_type"]
    assert lacks(sharded, nothing) is not None
    assert lacks(sharded, lambda _: "set") is None


def test_spellings_of_one_value() -> None:
    assert same("True", True)
    assert same("1e3", 1_000)
    assert same("'NO'", "no")
    assert not same("1", 2)
    assert not same(None, False)
