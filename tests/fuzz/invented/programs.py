"""How tools and files show what failed elsewhere."""

from __future__ import annotations

import csv
import io
import json
import random

from fuzz.invented.words import BITS, HOSTS, LEAD_NOUNS, PEOPLE, Lines, number, some_id


def diff(r: random.Random, x: Lines) -> Lines:
    name = f"{r.choice(BITS)}/{r.choice(BITS)}.{r.choice(('txt', 'md', 'py', 'log'))}"
    mark = r.choice("+-")
    return [
        f"diff --git a/{name} b/{name}",
        f"index {r.randrange(16**7):07x}..{r.randrange(16**7):07x} 100644",
        f"--- a/{name}",
        f"+++ b/{name}",
        f"@@ -{number(r)},3 +{number(r)},{3 + len(x)} @@",
        " context of it",
        *(mark + line for line in x),
        " and more",
    ]


def git_log(r: random.Random, x: Lines) -> Lines:
    who = r.choice(PEOPLE)
    return [
        f"commit {r.randrange(16**40):040x}",
        f"Author: {who.title()} <{who}@example.org>",
        "Date:   Mon Mar 2 11:02:13 2026 +0100",
        "",
        f"    {r.choice(BITS)}: catch what the tests print",
        "",
        *(f"    {line}" for line in x),
        "",
        *diff(r, x),
    ]


def json_document(r: random.Random, x: Lines) -> Lines:
    key = r.choice(("text", "prompt", "content", "body", "chosen", "q", "instruction", "snippet"))
    whole = "\n".join(x)
    inner: object = {"id": some_id(r), key: whole, "n": number(r)}
    if r.random() < 0.4:
        inner = {"messages": [{"role": "user", "content": whole}, {"role": "assistant"}]}
    return json.dumps(inner, indent=r.choice((None, 1, 2, 4)), ensure_ascii=False).split("\n")


def json_of_lines(r: random.Random, x: Lines) -> Lines:
    """An array of lines, each on a line of its own."""
    return ["{", f' "{r.choice(BITS)}": [', *("  " + json.dumps(y) + "," for y in x), ' "" ]', "}"]


def yaml(r: random.Random, x: Lines) -> Lines:
    key = r.choice(("notes", "description", "run_notes", "system_prompt", "comment"))
    pad = " " * r.choice((2, 4))
    mark = r.choice(("|", ">", "|-", "|2"))
    return [
        f"{r.choice(BITS)}: {number(r)}",
        f"{key}: {mark}",
        *(pad + line for line in x),
        f"{r.choice(BITS)}: true",
    ]


def csv_table(r: random.Random, x: Lines) -> Lines:
    out = io.StringIO()
    table = csv.writer(out, delimiter=r.choice(",;\t"), lineterminator="\n")
    table.writerow(("id", r.choice(BITS), "text", "label"))
    table.writerow((number(r), r.choice(BITS), "all fine here", "none"))
    table.writerow((number(r), r.choice(BITS), "\n".join(x), "hw"))
    table.writerow((number(r), r.choice(BITS), "slow loader", "data"))
    return out.getvalue().rstrip("\n").split("\n")


def xml(r: random.Random, x: Lines) -> Lines:
    tag = r.choice(BITS)
    return [f"<{tag}><![CDATA[", *x, f"]]></{tag}>"]


def shell(r: random.Random, x: Lines) -> Lines:
    who, host = r.choice(PEOPLE), r.choice(HOSTS)
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
    return [f"{sign}{tool} {r.choice(BITS)}.log", *x, sign.rstrip()]


def grep(r: random.Random, x: Lines) -> Lines:
    name = f"{r.choice(BITS)}/{r.choice(BITS)}.{r.choice(('log', 'out', 'txt'))}"
    mark = r.choice((f"{name}:{{n}}:", f"{name}:", "{n}:", f"{name}-{{n}}-"))
    start = number(r) + 1
    return [mark.format(n=start + n) + line for n, line in enumerate(x)]


def assertion(r: random.Random, x: Lines) -> Lines:
    whole = "\\n".join(x)
    return [
        f"tests/test_{r.choice(BITS)}.py::test_{r.choice(BITS)} PASSED",
        f"E       AssertionError: assert 'ok' == {whole!r}",
        "E         - ok",
        *(f"E         + {line}" for line in x),
    ]


def docstring(r: random.Random, x: Lines) -> Lines:
    quote = r.choice(('"""', "'''"))
    pad = r.choice(("", "    "))
    return [
        f"{pad}def {r.choice(BITS)}(line):",
        f"{pad}    {quote}Sort what a job says.",
        "",
        *(f"{pad}    {line}" for line in x),
        f"{pad}    {quote}",
    ]


def sql(r: random.Random, x: Lines) -> Lines:
    if r.random() < 0.5:
        return [
            f"INSERT INTO {r.choice(BITS)} VALUES ({number(r)}, '{x[0]}",
            *x[1:],
            f"', '{r.choice(PEOPLE)}');",
        ]
    return [
        " id | text | by",
        "----+------+----",
        *(f" {number(r):2} | {line} | {r.choice(PEOPLE)}" for line in x),
        f"({len(x)} rows)",
    ]


def notebook(r: random.Random, x: Lines) -> Lines:
    n = number(r)
    return [
        f"In [{n}]: show({r.choice(BITS)}[{number(r)}])",
        f"Out[{n}]:",
        *x,
        "",
        f"In [{n + 1}]:",
    ]


def shown_repr(r: random.Random, x: Lines) -> Lines:
    return [f"{r.choice(BITS)}[{number(r)}] = {chr(10).join(x)!r}"]


def box(r: random.Random, x: Lines) -> Lines:
    corner = list(r.choice(("╭─╮╰╯", "┌─┐└┘", "+-+++", "╔═╗╚╝")))
    tl, h, tr, bl, br = corner
    side = {"╭": "│", "┌": "│", "+": "|", "╔": "║"}[tl]
    width = max(map(len, x)) + 2
    return [
        f"{tl}{h * 3} {r.choice(LEAD_NOUNS)} {some_id(r)} {h * width}{tr}",
        *(f"{side} {line:{width}} {side}" for line in x),
        f"{bl}{h * (width + 16)}{br}",
    ]


def script(r: random.Random, x: Lines) -> Lines:
    quote = r.choice("'\"")
    return [
        f"{r.choice(BITS)}() {{",
        *(f"  {r.choice(('echo', 'printf', 'log_info'))} {quote}{line}{quote}" for line in x),
        "}",
    ]
