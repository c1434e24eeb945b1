"""Who is apart by all that ranks printed, in whatever way a program numbers them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from unhang.engine.ledger import ranks_apart
from unhang.model.events import ApartKind, RanksApart
from unhang.model.ids import NO_RANKS, Rank
from unhang.sources.artifact import Artifact
from unhang.sources.hints import origin_of

HEADS = (
    "p{r:02d} ",
    "[{r},gx-a] ",
    "ctr[{r}] ",
    "worker {r}: ",
    "<{r:02d}> ",
    "(gpu{r}) ",
    "{r}| ",
)
SHORT, LONG = "9 batches", "12 batches"


def apart(
    folder: Path,
    *missing: int,
    of: Mapping[str, str] = MappingProxyType({}),
    world: int | None = None,
    **files: str,
) -> tuple[RanksApart | None, Mapping[str, Rank]]:
    artifacts = []
    for name, text in {**of, **files}.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        artifacts.append(
            Artifact(
                name=path.name,
                open=lambda path=path: path.open("rb"),  # type: ignore[misc]
                size_bytes=path.stat().st_size,
                origin=origin_of(path.name),
                again=True,
            )
        )
    lost = frozenset(map(Rank, missing)) or NO_RANKS
    return ranks_apart(artifacts, world, -1, lost)


def job(head: str, *ends: str, plans: tuple[str, ...] = (), steps: int = 4) -> str:
    """Lines of ranks by turns: a plan, some steps, and the last words of each."""
    lines = [f"{head.format(r=r)}loader of {plan}" for r, plan in enumerate(plans)]
    for step in range(steps):
        lines += [f"{head.format(r=r)}step {step} loss 0.{r}{step}" for r in range(len(ends))]
    lines += [f"{head.format(r=r)}{end}" for r, end in enumerate(ends) if end]
    return "\n".join(lines) + "\n"


OVER = ("", "", "epoch 0 done, evaluating")


@pytest.mark.parametrize("head", HEADS)
def test_a_rank_that_ended_alone(tmp_path: Path, head: str) -> None:
    found, _ = apart(tmp_path, log__txt=job(head, *OVER, plans=(LONG, LONG, SHORT)))
    assert found is not None
    assert (found.kind, set(found.ranks), found.totals) == (ApartKind.ENDED, {2}, (9, 12))


@pytest.mark.parametrize("name", ["r{r}.stdout", "host{r}.INFO", "trainer_{r}.out", "w-{r}.cnt"])
def test_files_that_count_the_ranks(tmp_path: Path, name: str) -> None:
    files = {name.format(r=r): job("", OVER[r], plans=(LONG,)) for r in range(3)}
    found, owners = apart(tmp_path, of=files)
    assert found is not None
    assert (set(found.ranks), found.totals, set(owners.values())) == ({2}, None, {0, 1, 2})


def test_sections_and_tables(tmp_path: Path) -> None:
    lasts = ("0:8/9 23071 in_step", "0:8/8 23064 epoch_done", "0:8/9 23075 in_step")
    tail = "".join(
        f"==> counters/w{r}.cnt <==\n0:1/9 2071 in_step\n{last}\n" for r, last in enumerate(lasts)
    )
    found, _ = apart(tmp_path, tail__txt=tail)
    assert found is not None
    assert (set(found.ranks), found.totals) == ({1}, (8, 9))
    rows = "".join(f"{r},train,{step}\n" for step in (10, 20) for r in range(3))
    found, _ = apart(tmp_path, prog__csv=f"rank,phase,step\n{rows}1,train_end,22\n")
    assert found is not None
    assert found.ranks == {1}


@pytest.mark.parametrize(
    "ends",
    [
        ("epoch 0 done",) * 3,
        ("epoch 0 done", "", ""),
        ("", "", "epoch 0 done\nworker 2: step 9 loss 0.1"),
        ("", "", "waiting until epoch 0 done"),
        ("with Join([ddp]): uneven inputs allowed", "", "epoch 0 done"),
    ],
)
def test_nobody_is_apart(tmp_path: Path, ends: tuple[str, ...]) -> None:
    text = job("worker {r}: ", *ends)
    if "Join" in ends[0]:
        text = text.splitlines()[-2] + "\n" + text
    assert apart(tmp_path, log__txt=text)[0] is None


def test_numbers_of_epochs_are_no_ranks(tmp_path: Path) -> None:
    text = "".join(f"k{k} {step} bpr 0.{step}\n" for k in range(3) for step in range(9))
    assert apart(tmp_path, log__txt=f"{text}k2 exhausted at 9\n")[0] is None


def test_hosts_of_several_ranks_are_no_ranks(tmp_path: Path) -> None:
    files = {f"host{r}.log": job("", OVER[r]) for r in range(3)}
    assert apart(tmp_path, world=24, of=files)[0] is None


EVALUATES = (
    "eval part {r}: n=16\nctr[{r}] auc(all) 0.7\nctr[{r}] step 9 loss 0.5\n"
    "ctr[{r}] eval part {r}: n=16"
)


@pytest.mark.parametrize(
    ("more", "clock", "found"),
    [
        ("no positives -> return 0.5", "Mon Sep  2 09:40:12 2024", True),
        ("saving the model", "Mon Sep  2 09:40:12 2024", False),
        ("no positives -> return 0.5", "Sun Sep  1 20:14:50 2024", False),
    ],
)
def test_a_rank_that_went_on_alone(tmp_path: Path, more: str, clock: str, found: bool) -> None:
    ends = [EVALUATES.format(r=r) for r in range(4)]
    ends[2] += f"\nctr[2] {more}"
    files = {
        f"r{r}.out": "".join(
            ln + "\n" for ln in job("ctr[{r}] ", *ends).splitlines() if f"[{r}]" in ln
        )
        for r in range(4)
    }
    shell = f"2024-09-01 20:14:31.118200041 r2.out\n{clock}\n"
    told, _ = apart(tmp_path, of=files, shell__txt=shell)
    assert (told is not None) is found
    if told is not None:
        assert (told.kind, set(told.ranks)) == (ApartKind.PASSED, {2})


def test_one_that_is_missed_and_left_something_out(tmp_path: Path) -> None:
    text = job("<{r}> ", "", "", "all masked, no loss here, step skipped", "")
    found, _ = apart(tmp_path, 2, log__txt=text)
    assert found is not None
    assert (found.kind, set(found.ranks)) == (ApartKind.PASSED, {2})
    assert apart(tmp_path, 1, log__txt=text)[0] is None
    assert apart(tmp_path, log__txt=text)[0] is None
    all_skip = job("<{r}> ", *["no loss here, step skipped"] * 4)
    assert apart(tmp_path, 2, log__txt=all_skip)[0] is None


@pytest.mark.parametrize(("missing", "found"), [((3,), True), ((1,), False), ((), False)])
def test_one_that_is_missed_and_has_another_model(
    tmp_path: Path, missing: tuple[int, ...], found: bool
) -> None:
    text = job("<{r}> ", *["trainable variables 46"] * 3, "trainable variables 44")
    told, _ = apart(tmp_path, *missing, log__txt=text)
    assert (told is not None and told.kind is ApartKind.DIFFERENT) is found


@pytest.mark.parametrize("text", ["", "\0" * 90, "rank,rank\n1,2\n", "p0 \np1 \np0 \n"])
def test_anything_is_read(tmp_path: Path, text: str) -> None:
    assert apart(tmp_path, log__txt=text)[0] is None
