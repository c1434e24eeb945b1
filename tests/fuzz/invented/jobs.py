"""Healthy jobs that show what failed elsewhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from fuzz.invented import people, programs, training
from fuzz.invented.failures import FAILURES
from fuzz.invented.words import BITS, MODULES, Lines
from fuzz.quoted import Shown

Way = Callable[[random.Random, Lines], Lines]
PLACES = ("start", "middle", "still running", "ended", "beside")
WAYS: Mapping[str, Way] = {
    "chat": people.chat,
    "mail": people.mail,
    "mail, plain": people.mail_plain,
    "list": people.bulleted,
    "quotes": people.quotes,
    "fence": people.fence,
    "diff": programs.diff,
    "git log -p": programs.git_log,
    "json": programs.json_document,
    "json, an array of lines": programs.json_of_lines,
    "yaml": programs.yaml,
    "csv": programs.csv_table,
    "html": people.html_page,
    "xml": programs.xml,
    "latex": people.latex,
    "markdown": people.markdown,
    "table of completions": training.table_of_completions,
    "parts of a sample": training.parts_of_a_sample,
    "response and reward": training.response_and_reward,
    "reasoning": training.reasoning,
    "completion": training.completion,
    "shell": programs.shell,
    "grep": programs.grep,
    "assertion": programs.assertion,
    "docstring": programs.docstring,
    "sql": programs.sql,
    "notebook": programs.notebook,
    "repr": programs.shown_repr,
    "led to": people.led_to,
    "led to, followed": people.led_to_and_followed,
    "voice": training.voice,
    "flash card": people.flash_card,
    "description of an API": people.description_of_an_api,
    "subtitles": people.subtitles,
    "story": people.story,
    "chat template": training.chat_template,
    "box": programs.box,
    "ticket": people.ticket,
    "script": programs.script,
    "changelog": people.changelog,
    "tool": training.tool_call,
    "translation": training.translation,
}
"""How a failure of another is shown."""


def _work(r: random.Random) -> tuple[Lines, Lines]:
    """How a job prints its work, and its good end."""
    count = r.choice((4, 8, 12, 40, 60))
    total = 10 * count
    kind = r.randrange(7)
    lines: Lines = []
    for n in range(1, count + 1):
        step, loss = n * 10, 1 + 3 / n
        at = f"2026-05-01 {10 + n // 60:02}:{n % 60:02}:07"
        lines.append(
            (
                f"step {step}/{total} loss {loss:.4f} lr 1.0e-04",
                f"{at},123 INFO step {step}/{total} loss {loss:.4f}",
                f"{{'loss': {loss:.4f}, 'learning_rate': 1e-05, 'epoch': {n / count:.2f}}}",
                f" iteration {step:8}/{total:8} | consumed samples: {step * 8} | elapsed time per"
                f" iteration (ms): 811.3 | lm loss: {loss:.6E} |",
                f"Epoch 0: {100 * n // count:3}%|###       | {n}/{count} [00:0{n % 9}<01:00,"
                f"  1.31it/s, train_loss={loss:.2f}]",
                f"[rank0]:[titan] {at},004 - root - INFO - step: {step:2}  loss: {loss:8.4f}"
                "  memory: 39.11GiB(49.40%)",
                f"{at} | {r.choice(MODULES)} | global step {step} - reward {r.random():.3f}",
            )[kind]
        )
    end = (
        ["Training complete"],
        ["2026-05-01 13:10:00,000 INFO Training complete"],
        ["{'train_runtime': 300.1, 'train_samples_per_second': 12.1, 'epoch': 1.0}"],
        ["Training complete"],
        ["`Trainer.fit` stopped: `max_epochs=1` reached."],
        ["[rank0]:[titan] 2026-05-01 13:10:00,004 - root - INFO - Training completed"],
        ["Training complete"],
    )[kind]
    return lines, end


def jobs(seed: int) -> Iterator[Shown]:
    """Every way with every failure in every place, in wordings of that seed."""
    for way, show in WAYS.items():
        for name, fail in FAILURES.items():
            for place in PLACES:
                r = random.Random(f"{seed} {way} {name} {place}")
                inner = show(r, fail(r))
                work, end = _work(r)
                files = {"job.log": "\n".join(_placed(work, end, inner, place)) + "\n"}
                if place == "beside":
                    files[f"{r.choice(BITS)}.txt"] = "\n".join(inner) + "\n"
                yield Shown(way, name, place, False, files)


def sample(of: Sequence[Shown], seed: int, count: int) -> list[Shown]:
    """So many of them, by chance."""
    return random.Random(seed).sample(of, min(count, len(of)))


def _placed(work: Lines, end: Lines, inner: Lines, place: str) -> Lines:
    half = len(work) // 2
    return {
        "start": [*inner, *work, *end],
        "middle": [*work[:half], *inner, *work[half:], *end],
        "still running": [*work, *inner],
        "ended": [*work, *end, *inner],
        "beside": [*work, *end],
    }[place]
