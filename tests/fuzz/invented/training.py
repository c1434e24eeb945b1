"""How training itself shows it: samples, completions, rewards, templates."""

from __future__ import annotations

import random

from fuzz.invented.words import ANSWERS, BITS, SAID, Lines, lead, number, tail


def table_of_completions(r: random.Random, x: Lines) -> Lines:
    """The completions table of a trainer."""
    width = max(map(len, x))
    return [
        "╭" + "─" * 20 + f" Step {number(r)} " + "─" * width + "╮",
        f"│ ┃ {'Prompt':{width}} ┃ Completion ┃ reward ┃ │",
        *(f"│ │ {line:{width}} │ {'ask':10} │ {r.random():.2f}   │ │" for line in x),
        "╰" + "─" * (width + 30) + "╯",
    ]


def parts_of_a_sample(r: random.Random, x: Lines) -> Lines:
    return [
        f"[prompt] {r.choice(SAID)}",
        *x,
        f"[response] {r.choice(ANSWERS)}",
        "[ground_truth] hardware",
        f"[score] {r.random():.2f}",
    ]


def response_and_reward(r: random.Random, x: Lines) -> Lines:
    """The completion itself is or holds the failure; the reward follows."""
    a, b, c = r.choice(
        (
            ("[prompt]", "[response]", "[score]"),
            ("Question:", "Model answer:", "Reward:"),
            ("### Prompt", "### Completion", "### Reward"),
            ("<|user|>", "<|assistant|>", "<|end|>"),
            ("PROMPT>>>", "GEN>>>", "REWARD>>>"),
            ("query |", "rollout |", "advantage |"),
        )
    )
    return [f"{a} {r.choice(SAID)}", b, *x, f"{c} {r.random():.3f}"]


def reasoning(r: random.Random, x: Lines) -> Lines:
    return [
        "-" * 20 + f" Question {number(r)}:",
        r.choice(SAID),
        "-" * 20 + " Answer:",
        "hardware",
        "-" * 20 + " Response:",
        "<think>",
        r.choice(ANSWERS),
        "The log says",
        *x,
        "so one rank is missing.",
        "</think>",
        f"<answer>{r.choice(BITS)}</answer>",
    ]


def completion(r: random.Random, x: Lines) -> Lines:
    """A model explains an NCCL error."""
    return [
        f"Completion {number(r)}: When a collective stalls you will usually find",
        "",
        *x,
        "",
        "in the output of one process. To debug it, set NCCL_DEBUG=INFO and look at who is late.",
        r.choice(ANSWERS),
    ]


def voice(r: random.Random, x: Lines) -> Lines:
    """A component shows it, and goes on speaking."""
    voice = r.choice(
        (
            f"[{r.choice(BITS)}] ",
            f"{r.choice(BITS)}: ",
            f"{r.choice(BITS)} | ",
            f"({r.choice(BITS)}) ",
            f"<{r.choice(BITS)}> ",
            f"{r.choice(BITS)} - INFO - ",
        )
    )
    return [f"{voice}{lead(r)}", *x, f"{voice}{tail(r)}"]


def chat_template(r: random.Random, x: Lines) -> Lines:
    begin, end, other = r.choice(
        (
            ("<|im_start|>user", "<|im_end|>", "<|im_start|>assistant"),
            ("[INST]", "[/INST]", ""),
            ("<start_of_turn>user", "<end_of_turn>", "<start_of_turn>model"),
            ("<|header|>user<|sep|>", "<|turn|>", "<|header|>bot<|sep|>"),
            ("<user>", "</user>", "<assistant>"),
        )
    )
    return [begin, r.choice(SAID), *x, end, other, r.choice(ANSWERS)]


def tool_call(r: random.Random, x: Lines) -> Lines:
    """An agent under training reads a log with a tool."""
    name = r.choice(("bash", "read_log", "execute", "search"))
    return [
        f"Action: {name}",
        f"Action Input: {r.choice(BITS)}.log",
        "Observation:",
        *x,
        f"Thought: {r.choice(ANSWERS)}",
    ]


def translation(r: random.Random, x: Lines) -> Lines:
    n = number(r)
    mark = r.choice(("S-{n}\t", "src[{n}] ", "SRC {n}: ", "source: "))
    return [
        *(mark.format(n=n) + line for line in x),
        f"T-{n}\t{r.choice(ANSWERS)}",
        f"H-{n}\t-0.2\tso",
    ]
