"""Quotes failures of others in healthy logs with wordings that nobody has read before.

`quoted` has ways of showing that were written down; here each is invented anew: a seed chooses who
speaks, how what is shown is framed, marked and labelled, how the failure reads and how the job
prints its work. `python -m fuzz.invented --seed 7 --jobs 2000` prints which convict.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from fuzz.quoted import Shown, convicts

Lines = list[str]
Way = Callable[[random.Random, Lines], Lines]
PLACES = ("start", "middle", "still running", "ended", "beside")


def _of(words: str) -> Lines:
    return words.split()


_PEOPLE = _of("ines tomasz okoro yuki bram leila anselm petra dov marit sunil chiara")
_HOSTS = _of("pine quartz heron tuba basalt orca fjell lynx")
_MODULES = _of("train finetune sft_main pretrain grpo run_clm launch_rl")
_BITS = _of("harbor velvet copper lantern meadow cipher walnut ember")
_LEAD_NOUNS = _of(
    "sample excerpt snippet transcript record example item document passage entry message"
    " generation"
)
_SAID = (
    "any idea what this means?",
    "saw this again on the other cluster:",
    "is that ours or the switch?",
    "this is what it printed before lunch",
    "can somebody have a look",
)
_ANSWERS = (
    "That is the memory of the host, ask for more of it.",
    "I would drain the node and open a ticket with the vendor.",
    "Looks like what we had in spring; a newer driver helped.",
    "Nothing to worry about, the retry went through.",
    "First compare the versions on both nodes, then rerun with one of them.",
)


# --------------------------------------------------------------------------- what failed elsewhere


def _trace(r: random.Random, error: str, mark: str = "") -> Lines:
    name, word = r.choice(_MODULES), r.choice(_BITS)
    lines = [
        "Traceback (most recent call last):",
        f'  File "/{word}/{name}.py", line {r.randrange(20, 900)}, in <module>',
        "    main()",
        f'  File "/{word}/{name}.py", line {r.randrange(20, 900)}, in main',
        "    trainer.train()",
        error,
    ]
    return [mark + line for line in lines]


def _oom(r: random.Random) -> str:
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {r.randrange(1, 9)}."
        f"{r.randrange(10, 99)} GiB. GPU {r.randrange(8)} has a total capacity of 79.15 GiB of "
        f"which {r.randrange(9, 900)}.12 MiB is free."
    )


def _watchdog(r: random.Random) -> str:
    rank, limit = r.randrange(16), r.choice((600, 1800))
    return (
        f"[rank{rank}]:[E{r.randrange(101, 1130):04} 0{r.randrange(10)}:12:44."
        f"{r.randrange(10**9):09} ProcessGroupNCCL.cpp:{r.randrange(500, 700)}] [Rank {rank}] "
        "Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={r.randrange(9_999)}, OpType=ALLREDUCE, "
        f"NumelIn=4096, NumelOut=4096, Timeout(ms)={limit}000) ran for "
        f"{limit}0{r.randrange(10, 99)} milliseconds before timing out."
    )


def _table(r: random.Random) -> Lines:
    rank = r.randrange(8)
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        f"{r.choice(_MODULES)}.py FAILED",
        "-" * 60,
        "Failures:",
        "  <NO_OTHER_FAILURES>",
        "-" * 60,
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : 2026-0{r.randrange(1, 9)}-1{r.randrange(9)}_10:01:58",
        f"  host      : {r.choice(_HOSTS)}{r.randrange(99)}",
        f"  rank      : {rank} (local_rank: {rank})",
        f"  exitcode  : -{r.choice((6, 9, 11))} (pid: {r.randrange(900, 90000)})",
        "  error_file: <N/A>",
        "  traceback : Signal 9 (SIGKILL) received by PID 1",
        "=" * 60,
    ]


FAILURES: Mapping[str, Callable[[random.Random], Lines]] = {
    "memory": lambda r: _trace(r, _oom(r)),
    "memory of a rank": lambda r: _trace(r, _oom(r), f"[rank{r.randrange(8)}]: "),
    "memory, one line": lambda r: [_oom(r)],
    "watchdog": lambda r: [_watchdog(r)],
    "watchdogs": lambda r: [_watchdog(r), _watchdog(r)],
    "table": _table,
    "kernel fault": lambda r: _trace(
        r, "RuntimeError: CUDA error: an illegal memory access was encountered"
    ),
    "nccl": lambda r: _trace(
        r,
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/"
        f"ProcessGroupNCCL.cpp:{r.randrange(900, 3000)}, unhandled system error (run with "
        "NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
    ),
    "code": lambda r: _trace(r, f"KeyError: '{r.choice(_BITS)}'"),
    "xid": lambda r: [
        f"[{r.randrange(9, 99999)}.{r.randrange(10**6):06}] NVRM: Xid (PCI:0000:"
        f"{r.randrange(16, 255):02x}:00): {r.choice((79, 48, 94))}, "
        f"pid={r.randrange(900, 90000)}, name=python, Ch 00000008"
    ],
    "slurm": lambda r: [
        f"slurmstepd: error: Detected {r.randrange(1, 4)} oom_kill event in StepId="
        f"{r.randrange(10**4, 10**6)}.0. Some of the step tasks have been OOM Killed."
    ],
    "srun": lambda r: [
        f"srun: error: {r.choice(_HOSTS)}{r.randrange(99)}: task {r.randrange(16)}: Killed",
        f"srun: Terminating StepId={r.randrange(10**4, 10**6)}.0",
    ],
    "agent": lambda r: [
        f"E0{r.randrange(101, 999)} 10:01:58.000000 {r.randrange(900, 90000)} torch/distributed/"
        f"elastic/multiprocessing/api.py:874] failed (exitcode: -{r.choice((9, 11, 6))}) "
        f"local_rank: {r.randrange(8)} (pid: {r.randrange(900, 90000)}) of binary: "
        "/opt/env/bin/python"
    ],
    "segfault": lambda r: [
        "Fatal Python error: Segmentation fault",
        "",
        f"Current thread 0x00007f{r.randrange(16**10):010x} (most recent call first):",
        f'  File "/{r.choice(_BITS)}/{r.choice(_MODULES)}.py", line {r.randrange(9, 900)} in step',
    ],
    "barrier": lambda r: [
        f"[Rank 0]: Ranks {r.randrange(1, 4)}, {r.randrange(4, 8)} failed to pass monitoredBarrier "
        f"in {r.randrange(1, 9)}0000 ms"
    ],
    "infiniband": lambda r: [
        f"{r.choice(_HOSTS)}{r.randrange(99)}:{r.randrange(999, 99999)}:{r.randrange(999, 99999)} "
        f"[{r.randrange(8)}] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
        f"10.0.{r.randrange(9)}.7<43210> with status=12 opcode=0 len=0 vendor err 129 (Recv)"
    ],
}
"""What another job printed when it failed."""


# ------------------------------------------------------------------------------ how it is shown


def _number(r: random.Random) -> int:
    return r.choice((r.randrange(9), r.randrange(100), r.randrange(100_000)))


def _id(r: random.Random) -> str:
    return r.choice(
        (
            f"{r.choice(_BITS)}-{_number(r)}",
            f"{r.choice(_BITS)}_{r.choice(_BITS)}",
            f"{r.randrange(16**8):08x}",
            f"#{_number(r)}",
        )
    )


def _lead(r: random.Random) -> str:
    """A line that says that something follows."""
    noun = r.choice(_LEAD_NOUNS)
    return r.choice(
        (
            f"Here is the {noun} that {r.choice(_PEOPLE).title()} sent in:",
            f"First {noun} of shard {_number(r)}:",
            f"decoded {noun} {_number(r)} of {r.choice(_BITS)}:",
            f"A random {noun} from the {r.choice(_BITS)} corpus reads as follows",
            f"{noun.title()} ({_id(r)}):",
            f"printing one {noun} so that the tokenizer can be checked",
            f"The policy wrote this {noun} (temperature {r.random():.1f}):",
        )
    )


def _tail(r: random.Random) -> str:
    """A line of the same voice that follows."""
    return r.choice(
        (
            f"({r.randrange(9, 4000)} tokens, {r.randrange(9)} truncated)",
            f"length {r.randrange(9, 9000)}, kept",
            f"End of the {r.choice(_LEAD_NOUNS)}.",
            r.choice(_ANSWERS),
            f"-- {r.choice(_PEOPLE)}",
            f"label: {r.choice(('hardware', 'memory', 'network', 'user'))}",
        )
    )


def _slack(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(_PEOPLE, 2)
    form = r.randrange(4)
    when = f"{r.randrange(8, 19)}:{r.randrange(60):02}"
    if form == 0:
        head = (f"{a}  {when} AM", f"{b}  {when} AM")
    elif form == 1:
        head = (f"@{a}:", f"@{b}:")
    elif form == 2:
        head = (f"{a.title()} {b.title()} [{when}]", f"{b.title()} [{when}]")
    else:
        head = (f"*{a}*", f"*{b}*")
    return [head[0], r.choice(_SAID), *x, head[1], r.choice(_ANSWERS)]


def _mail(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(_PEOPLE, 2)
    mark = r.choice(("> ", ">> ", "| ", "    > "))
    return [
        f"From: {a}@{r.choice(_BITS)}.example.org",
        f"Subject: Re: {r.choice(_BITS)} run",
        "",
        f"On Tuesday {b} wrote:",
        *(mark + line for line in x),
        "",
        r.choice(_ANSWERS),
        a,
    ]


def _mail_plain(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(_PEOPLE, 2)
    return [
        f"From: {a}@{r.choice(_BITS)}.example.org",
        f"To: {b}@{r.choice(_BITS)}.example.org",
        f"Subject: {r.choice(_BITS)} run",
        "",
        f"Hi {b.title()},",
        r.choice(_SAID),
        "",
        *x,
        "",
        "Best,",
        a.title(),
    ]


def _list(r: random.Random, x: Lines) -> Lines:
    style = r.choice(("- ", "* ", "• ", "{n}. ", "({n}) ", "{n}) ", "a{n}: ", "[{n}] "))
    more = r.sample(_ANSWERS, 2)
    points = [more[0], x[0], *(["  " + line for line in x[1:]]), more[1]]
    shown: Lines = [_lead(r)]
    n = 0
    for point in points:
        if point.startswith(" "):
            shown.append(point)
        else:
            n += 1
            shown.append(style.format(n=n) + point)
    return shown


def _quotes(r: random.Random, x: Lines) -> Lines:
    begin, end = r.choice(
        (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"), ("`", "`"), ("「", "」"))
    )
    return [f"{_lead(r)} {begin}{x[0]}", *x[1:-1], *([x[-1] + end] if len(x) > 1 else [end])]


def _fence(r: random.Random, x: Lines) -> Lines:
    begin, end = r.choice(
        (
            ("```", "```"),
            ("~~~ text", "~~~"),
            ("```console", "```"),
            ("-" * 12 + " 8< " + "-" * 12, "-" * 12 + " >8 " + "-" * 12),
            ("=" * 40, "=" * 40),
            ("#" * 20, "#" * 20),
            ("<<<", ">>>"),
            ("{{{", "}}}"),
            ("[code]", "[/code]"),
            ("begin quote", "end quote"),
        )
    )
    return [_lead(r), begin, *x, end, _tail(r)]


def _diff(r: random.Random, x: Lines) -> Lines:
    name = f"{r.choice(_BITS)}/{r.choice(_BITS)}.{r.choice(('txt', 'md', 'py', 'log'))}"
    mark = r.choice("+-")
    return [
        f"diff --git a/{name} b/{name}",
        f"index {r.randrange(16**7):07x}..{r.randrange(16**7):07x} 100644",
        f"--- a/{name}",
        f"+++ b/{name}",
        f"@@ -{_number(r)},3 +{_number(r)},{3 + len(x)} @@",
        " context of it",
        *(mark + line for line in x),
        " and more",
    ]


def _git_log(r: random.Random, x: Lines) -> Lines:
    who = r.choice(_PEOPLE)
    return [
        f"commit {r.randrange(16**40):040x}",
        f"Author: {who.title()} <{who}@example.org>",
        "Date:   Mon Mar 2 11:02:13 2026 +0100",
        "",
        f"    {r.choice(_BITS)}: catch what the tests print",
        "",
        *(f"    {line}" for line in x),
        "",
        *_diff(r, x),
    ]


def _json(r: random.Random, x: Lines) -> Lines:
    key = r.choice(("text", "prompt", "content", "body", "chosen", "q", "instruction", "snippet"))
    whole = "\n".join(x)
    inner: object = {"id": _id(r), key: whole, "n": _number(r)}
    if r.random() < 0.4:
        inner = {"messages": [{"role": "user", "content": whole}, {"role": "assistant"}]}
    return json.dumps(inner, indent=r.choice((None, 1, 2, 4)), ensure_ascii=False).split("\n")


def _json_lines(r: random.Random, x: Lines) -> Lines:
    """An array of lines, each on a line of its own."""
    return ["{", f' "{r.choice(_BITS)}": [', *("  " + json.dumps(y) + "," for y in x), ' "" ]', "}"]


def _yaml(r: random.Random, x: Lines) -> Lines:
    key = r.choice(("notes", "description", "run_notes", "system_prompt", "comment"))
    pad = " " * r.choice((2, 4))
    mark = r.choice(("|", ">", "|-", "|2"))
    return [
        f"{r.choice(_BITS)}: {_number(r)}",
        f"{key}: {mark}",
        *(pad + line for line in x),
        f"{r.choice(_BITS)}: true",
    ]


def _csv(r: random.Random, x: Lines) -> Lines:
    out = io.StringIO()
    table = csv.writer(out, delimiter=r.choice(",;\t"), lineterminator="\n")
    table.writerow(("id", r.choice(_BITS), "text", "label"))
    table.writerow((_number(r), r.choice(_BITS), "all fine here", "none"))
    table.writerow((_number(r), r.choice(_BITS), "\n".join(x), "hw"))
    table.writerow((_number(r), r.choice(_BITS), "slow loader", "data"))
    return out.getvalue().rstrip("\n").split("\n")


def _html(r: random.Random, x: Lines) -> Lines:
    tag = r.choice(("pre", "code", "blockquote", "p", "td", "li"))
    begin = f'<{tag} class="{r.choice(_BITS)}">' if r.random() < 0.5 else f"<{tag}>"
    inner = [html.escape(line, quote=False) for line in x]
    if r.random() < 0.5:
        return [f"<h3>{r.choice(_BITS)}</h3>", begin, *inner, f"</{tag}>"]
    return [f"<h3>{r.choice(_BITS)}</h3>", begin + inner[0], *inner[1:], f"</{tag}>"]


def _xml(r: random.Random, x: Lines) -> Lines:
    tag = r.choice(_BITS)
    return [f"<{tag}><![CDATA[", *x, f"]]></{tag}>"]


def _latex(r: random.Random, x: Lines) -> Lines:
    name = r.choice(("verbatim", "lstlisting", "quote", "alltt", "Verbatim"))
    return [
        f"\\section{{{r.choice(_BITS)}}}",
        f"\\begin{{{name}}}",
        *x,
        f"\\end{{{name}}}",
        r.choice(_ANSWERS),
    ]


def _markdown(r: random.Random, x: Lines) -> Lines:
    head = f"{'#' * r.randrange(1, 4)} {r.choice(_BITS).title()} {r.choice(_BITS)}"
    if r.random() < 0.5:
        return [head, "", r.choice(_ANSWERS), "", *("    " + line for line in x), "", _tail(r)]
    return [head, "", r.choice(_ANSWERS), "", *x, "", r.choice(_ANSWERS)]


def _trl(r: random.Random, x: Lines) -> Lines:
    """The completions table of a trainer."""
    width = max(map(len, x))
    return [
        "╭" + "─" * 20 + f" Step {_number(r)} " + "─" * width + "╮",
        f"│ ┃ {'Prompt':{width}} ┃ Completion ┃ reward ┃ │",
        *(f"│ │ {line:{width}} │ {'ask':10} │ {r.random():.2f}   │ │" for line in x),
        "╰" + "─" * (width + 30) + "╯",
    ]


def _verl(r: random.Random, x: Lines) -> Lines:
    return [
        f"[prompt] {r.choice(_SAID)}",
        *x,
        f"[response] {r.choice(_ANSWERS)}",
        "[ground_truth] hardware",
        f"[score] {r.random():.2f}",
    ]


def _response(r: random.Random, x: Lines) -> Lines:
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
    return [f"{a} {r.choice(_SAID)}", b, *x, f"{c} {r.random():.3f}"]


def _open_r1(r: random.Random, x: Lines) -> Lines:
    return [
        "-" * 20 + f" Question {_number(r)}:",
        r.choice(_SAID),
        "-" * 20 + " Answer:",
        "hardware",
        "-" * 20 + " Response:",
        "<think>",
        r.choice(_ANSWERS),
        "The log says",
        *x,
        "so one rank is missing.",
        "</think>",
        f"<answer>{r.choice(_BITS)}</answer>",
    ]


def _discusses(r: random.Random, x: Lines) -> Lines:
    """A model explains an NCCL error."""
    return [
        f"Completion {_number(r)}: When a collective stalls you will usually find",
        "",
        *x,
        "",
        "in the output of one process. To debug it, set NCCL_DEBUG=INFO and look at who is late.",
        r.choice(_ANSWERS),
    ]


def _cat(r: random.Random, x: Lines) -> Lines:
    who, host = r.choice(_PEOPLE), r.choice(_HOSTS)
    sign = r.choice(
        (
            f"{who}@{host}:~$ ",
            f"[{who}@{host} runs]$ ",
            "$ ",
            f"{host}% ",
            "❯ ",
            f"({who}) {host} > ",
        )
    )
    tool = r.choice(("cat", "less", "tail -n 40", "head -50", "zcat", "bat"))
    return [f"{sign}{tool} {r.choice(_BITS)}.log", *x, sign.rstrip()]


def _grep(r: random.Random, x: Lines) -> Lines:
    name = f"{r.choice(_BITS)}/{r.choice(_BITS)}.{r.choice(('log', 'out', 'txt'))}"
    mark = r.choice((f"{name}:{{n}}:", f"{name}:", "{n}:", f"{name}-{{n}}-"))
    start = _number(r) + 1
    return [mark.format(n=start + n) + line for n, line in enumerate(x)]


def _pytest(r: random.Random, x: Lines) -> Lines:
    whole = "\\n".join(x)
    return [
        f"tests/test_{r.choice(_BITS)}.py::test_{r.choice(_BITS)} PASSED",
        f"E       AssertionError: assert 'ok' == {whole!r}",
        "E         - ok",
        *(f"E         + {line}" for line in x),
    ]


def _docstring(r: random.Random, x: Lines) -> Lines:
    quote = r.choice(('"""', "'''"))
    pad = r.choice(("", "    "))
    return [
        f"{pad}def {r.choice(_BITS)}(line):",
        f"{pad}    {quote}Sort what a job says.",
        "",
        *(f"{pad}    {line}" for line in x),
        f"{pad}    {quote}",
    ]


def _sql(r: random.Random, x: Lines) -> Lines:
    if r.random() < 0.5:
        return [
            f"INSERT INTO {r.choice(_BITS)} VALUES ({_number(r)}, '{x[0]}",
            *x[1:],
            f"', '{r.choice(_PEOPLE)}');",
        ]
    return [
        " id | text | by",
        "----+------+----",
        *(f" {_number(r):2} | {line} | {r.choice(_PEOPLE)}" for line in x),
        f"({len(x)} rows)",
    ]


def _notebook(r: random.Random, x: Lines) -> Lines:
    n = _number(r)
    return [
        f"In [{n}]: show({r.choice(_BITS)}[{_number(r)}])",
        f"Out[{n}]:",
        *x,
        "",
        f"In [{n + 1}]:",
    ]


def _repr(r: random.Random, x: Lines) -> Lines:
    return [f"{r.choice(_BITS)}[{_number(r)}] = {chr(10).join(x)!r}"]


def _lead_only(r: random.Random, x: Lines) -> Lines:
    return [_lead(r), *x]


def _lead_tail(r: random.Random, x: Lines) -> Lines:
    return [_lead(r), *x, _tail(r)]


def _voice(r: random.Random, x: Lines) -> Lines:
    """A component shows it, and goes on speaking."""
    voice = r.choice(
        (
            f"[{r.choice(_BITS)}] ",
            f"{r.choice(_BITS)}: ",
            f"{r.choice(_BITS)} | ",
            f"({r.choice(_BITS)}) ",
            f"<{r.choice(_BITS)}> ",
            f"{r.choice(_BITS)} - INFO - ",
        )
    )
    return [f"{voice}{_lead(r)}", *x, f"{voice}{_tail(r)}"]


def _cards(r: random.Random, x: Lines) -> Lines:
    a, b = r.choice((("Q", "A"), ("Front", "Back"), ("CARD", "ANSWER"), ("term", "meaning")))
    sep = r.choice((":", " -", " =", ">"))
    return [f"{a}{sep} {r.choice(_SAID)}", *x, f"{b}{sep} {r.choice(_ANSWERS)}"]


def _api(r: random.Random, x: Lines) -> Lines:
    return [
        f"class {r.choice(_BITS).title()}({r.choice(_BITS)})",
        f"  {r.choice(_ANSWERS)}",
        "",
        "  Raises",
        "  ------",
        *("  " + line for line in x),
        "",
        "  See Also",
        "  --------",
        f"  {r.choice(_BITS)}",
    ]


def _subtitles(r: random.Random, x: Lines) -> Lines:
    n = r.randrange(1, 400)
    shown: Lines = []
    for k, text in enumerate((r.choice(_ANSWERS), *x, r.choice(_ANSWERS))):
        shown += [
            str(n + k),
            f"00:{n % 60:02}:{k % 60:02},000 --> 00:{n % 60:02}:{k % 60:02},900",
            text,
            "",
        ]
    return shown


def _story(r: random.Random, x: Lines) -> Lines:
    return [
        f"{r.choice(_PEOPLE).title()} opened the laptop and read the last lines again.",
        *x,
        f"“So it was the {r.choice(_BITS)} after all,” said {r.choice(_PEOPLE).title()}.",
        f"Outside, the {r.choice(_BITS)} of the town was quiet.",
    ]


def _template(r: random.Random, x: Lines) -> Lines:
    begin, end, other = r.choice(
        (
            ("<|im_start|>user", "<|im_end|>", "<|im_start|>assistant"),
            ("[INST]", "[/INST]", ""),
            ("<start_of_turn>user", "<end_of_turn>", "<start_of_turn>model"),
            ("<|header|>user<|sep|>", "<|turn|>", "<|header|>bot<|sep|>"),
            ("<user>", "</user>", "<assistant>"),
        )
    )
    return [begin, r.choice(_SAID), *x, end, other, r.choice(_ANSWERS)]


def _box(r: random.Random, x: Lines) -> Lines:
    corner = list(r.choice(("╭─╮╰╯", "┌─┐└┘", "+-+++", "╔═╗╚╝")))
    tl, h, tr, bl, br = corner
    side = {"╭": "│", "┌": "│", "+": "|", "╔": "║"}[tl]
    width = max(map(len, x)) + 2
    return [
        f"{tl}{h * 3} {r.choice(_LEAD_NOUNS)} {_id(r)} {h * width}{tr}",
        *(f"{side} {line:{width}} {side}" for line in x),
        f"{bl}{h * (width + 16)}{br}",
    ]


def _ticket(r: random.Random, x: Lines) -> Lines:
    return [
        f"{r.choice(_BITS).upper()}-{_number(r)}  {r.choice(_BITS)} is slow",
        f"Reporter: {r.choice(_PEOPLE)}",
        f"Status: {r.choice(('open', 'closed', 'waiting'))}",
        "Description:",
        *x,
        f"Comment by {r.choice(_PEOPLE)}: {r.choice(_ANSWERS)}",
    ]


def _script(r: random.Random, x: Lines) -> Lines:
    quote = r.choice("'\"")
    return [
        f"{r.choice(_BITS)}() {{",
        *(f"  {r.choice(('echo', 'printf', 'log_info'))} {quote}{line}{quote}" for line in x),
        "}",
    ]


def _changelog(r: random.Random, x: Lines) -> Lines:
    return [
        f"v0.{r.randrange(9)}.{r.randrange(40)} ({r.choice(_BITS)})",
        f"  * {r.choice(_ANSWERS)}",
        "  * the following no longer happens:",
        *("      " + line for line in x),
        f"  * thanks to {r.choice(_PEOPLE)}",
    ]


def _tool_call(r: random.Random, x: Lines) -> Lines:
    """An agent under training reads a log with a tool."""
    name = r.choice(("bash", "read_log", "execute", "search"))
    return [
        f"Action: {name}",
        f"Action Input: {r.choice(_BITS)}.log",
        "Observation:",
        *x,
        f"Thought: {r.choice(_ANSWERS)}",
    ]


def _translation(r: random.Random, x: Lines) -> Lines:
    n = _number(r)
    mark = r.choice(("S-{n}\t", "src[{n}] ", "SRC {n}: ", "source: "))
    return [
        *(mark.format(n=n) + line for line in x),
        f"T-{n}\t{r.choice(_ANSWERS)}",
        f"H-{n}\t-0.2\tso",
    ]


WAYS: Mapping[str, Way] = {
    "chat": _slack,
    "mail": _mail,
    "mail, plain": _mail_plain,
    "list": _list,
    "quotes": _quotes,
    "fence": _fence,
    "diff": _diff,
    "git log -p": _git_log,
    "json": _json,
    "json, an array of lines": _json_lines,
    "yaml": _yaml,
    "csv": _csv,
    "html": _html,
    "xml": _xml,
    "latex": _latex,
    "markdown": _markdown,
    "table of completions": _trl,
    "parts of a sample": _verl,
    "response and reward": _response,
    "reasoning": _open_r1,
    "completion": _discusses,
    "shell": _cat,
    "grep": _grep,
    "assertion": _pytest,
    "docstring": _docstring,
    "sql": _sql,
    "notebook": _notebook,
    "repr": _repr,
    "led to": _lead_only,
    "led to, followed": _lead_tail,
    "voice": _voice,
    "flash card": _cards,
    "description of an API": _api,
    "subtitles": _subtitles,
    "story": _story,
    "chat template": _template,
    "box": _box,
    "ticket": _ticket,
    "script": _script,
    "changelog": _changelog,
    "tool": _tool_call,
    "translation": _translation,
}
"""How a failure of another is shown."""


# ------------------------------------------------------------------------------------- the job


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
                f"{at} | {r.choice(_MODULES)} | global step {step} - reward {r.random():.3f}",
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
                    files[f"{r.choice(_BITS)}.txt"] = "\n".join(inner) + "\n"
                yield Shown(way, name, place, False, files)


def _placed(work: Lines, end: Lines, inner: Lines, place: str) -> Lines:
    half = len(work) // 2
    return {
        "start": [*inner, *work, *end],
        "middle": [*work[:half], *inner, *work[half:], *end],
        "still running": [*work, *inner],
        "ended": [*work, *end, *inner],
        "beside": [*work, *end],
    }[place]


def main() -> int:
    """Judge some of the jobs of a seed, or all, and return 1 where one is convicted."""
    parser = argparse.ArgumentParser(prog="fuzz.invented", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, help="how many, by chance (default: all)")
    parser.add_argument("--way", help="only this one")
    parser.add_argument("--place", choices=PLACES)
    parser.add_argument("--show", action="store_true", help="print each log that convicts")
    options = parser.parse_args()
    chosen = [
        job
        for job in jobs(options.seed)
        if options.way in (None, job.way) and options.place in (None, job.place)
    ]
    if options.jobs is not None:
        source = random.Random(options.seed)
        chosen = source.sample(chosen, min(options.jobs, len(chosen)))
    ways: Counter[str] = Counter()
    for job in chosen:
        verdict = convicts(job)
        if verdict is not None:
            ways[f"{job.way} | {job.place}"] += 1
            shown = "".join(job.files.values()) if options.show else ""
            sys.stdout.write(f"{job.way} | {job.text} | {job.place}: {verdict}\n{shown}")
            sys.stdout.flush()
    for way, count in ways.most_common():
        sys.stdout.write(f"{count:5}  {way}\n")
    sys.stdout.write(f"{ways.total()} of {len(chosen)} convicted\n")
    return 1 if ways else 0


if __name__ == "__main__":
    sys.exit(main())
