"""How people, and what they write, show what failed elsewhere."""

from __future__ import annotations

import html
import random

from fuzz.invented.words import ANSWERS, BITS, PEOPLE, SAID, Lines, lead, number, tail


def chat(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(PEOPLE, 2)
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
    return [head[0], r.choice(SAID), *x, head[1], r.choice(ANSWERS)]


def mail(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(PEOPLE, 2)
    mark = r.choice(("> ", ">> ", "| ", "    > "))
    return [
        f"From: {a}@{r.choice(BITS)}.example.org",
        f"Subject: Re: {r.choice(BITS)} run",
        "",
        f"On Tuesday {b} wrote:",
        *(mark + line for line in x),
        "",
        r.choice(ANSWERS),
        a,
    ]


def mail_plain(r: random.Random, x: Lines) -> Lines:
    a, b = r.sample(PEOPLE, 2)
    return [
        f"From: {a}@{r.choice(BITS)}.example.org",
        f"To: {b}@{r.choice(BITS)}.example.org",
        f"Subject: {r.choice(BITS)} run",
        "",
        f"Hi {b.title()},",
        r.choice(SAID),
        "",
        *x,
        "",
        "Best,",
        a.title(),
    ]


def bulleted(r: random.Random, x: Lines) -> Lines:
    style = r.choice(("- ", "* ", "• ", "{n}. ", "({n}) ", "{n}) ", "a{n}: ", "[{n}] "))
    more = r.sample(ANSWERS, 2)
    points = [more[0], x[0], *(["  " + line for line in x[1:]]), more[1]]
    shown: Lines = [lead(r)]
    n = 0
    for point in points:
        if point.startswith(" "):
            shown.append(point)
        else:
            n += 1
            shown.append(style.format(n=n) + point)
    return shown


def quotes(r: random.Random, x: Lines) -> Lines:
    begin, end = r.choice(
        (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"), ("`", "`"), ("「", "」"))
    )
    return [f"{lead(r)} {begin}{x[0]}", *x[1:-1], *([x[-1] + end] if len(x) > 1 else [end])]


def fence(r: random.Random, x: Lines) -> Lines:
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
    return [lead(r), begin, *x, end, tail(r)]


def html_page(r: random.Random, x: Lines) -> Lines:
    tag = r.choice(("pre", "code", "blockquote", "p", "td", "li"))
    begin = f'<{tag} class="{r.choice(BITS)}">' if r.random() < 0.5 else f"<{tag}>"
    inner = [html.escape(line, quote=False) for line in x]
    if r.random() < 0.5:
        return [f"<h3>{r.choice(BITS)}</h3>", begin, *inner, f"</{tag}>"]
    return [f"<h3>{r.choice(BITS)}</h3>", begin + inner[0], *inner[1:], f"</{tag}>"]


def latex(r: random.Random, x: Lines) -> Lines:
    name = r.choice(("verbatim", "lstlisting", "quote", "alltt", "Verbatim"))
    return [
        f"\\section{{{r.choice(BITS)}}}",
        f"\\begin{{{name}}}",
        *x,
        f"\\end{{{name}}}",
        r.choice(ANSWERS),
    ]


def markdown(r: random.Random, x: Lines) -> Lines:
    head = f"{'#' * r.randrange(1, 4)} {r.choice(BITS).title()} {r.choice(BITS)}"
    if r.random() < 0.5:
        return [head, "", r.choice(ANSWERS), "", *("    " + line for line in x), "", tail(r)]
    return [head, "", r.choice(ANSWERS), "", *x, "", r.choice(ANSWERS)]


def led_to(r: random.Random, x: Lines) -> Lines:
    return [lead(r), *x]


def led_to_and_followed(r: random.Random, x: Lines) -> Lines:
    return [lead(r), *x, tail(r)]


def flash_card(r: random.Random, x: Lines) -> Lines:
    a, b = r.choice((("Q", "A"), ("Front", "Back"), ("CARD", "ANSWER"), ("term", "meaning")))
    sep = r.choice((":", " -", " =", ">"))
    return [f"{a}{sep} {r.choice(SAID)}", *x, f"{b}{sep} {r.choice(ANSWERS)}"]


def description_of_an_api(r: random.Random, x: Lines) -> Lines:
    return [
        f"class {r.choice(BITS).title()}({r.choice(BITS)})",
        f"  {r.choice(ANSWERS)}",
        "",
        "  Raises",
        "  ------",
        *("  " + line for line in x),
        "",
        "  See Also",
        "  --------",
        f"  {r.choice(BITS)}",
    ]


def subtitles(r: random.Random, x: Lines) -> Lines:
    n = r.randrange(1, 400)
    shown: Lines = []
    for k, text in enumerate((r.choice(ANSWERS), *x, r.choice(ANSWERS))):
        shown += [
            str(n + k),
            f"00:{n % 60:02}:{k % 60:02},000 --> 00:{n % 60:02}:{k % 60:02},900",
            text,
            "",
        ]
    return shown


def story(r: random.Random, x: Lines) -> Lines:
    return [
        f"{r.choice(PEOPLE).title()} opened the laptop and read the last lines again.",
        *x,
        f"“So it was the {r.choice(BITS)} after all,” said {r.choice(PEOPLE).title()}.",
        f"Outside, the {r.choice(BITS)} of the town was quiet.",
    ]


def ticket(r: random.Random, x: Lines) -> Lines:
    return [
        f"{r.choice(BITS).upper()}-{number(r)}  {r.choice(BITS)} is slow",
        f"Reporter: {r.choice(PEOPLE)}",
        f"Status: {r.choice(('open', 'closed', 'waiting'))}",
        "Description:",
        *x,
        f"Comment by {r.choice(PEOPLE)}: {r.choice(ANSWERS)}",
    ]


def changelog(r: random.Random, x: Lines) -> Lines:
    return [
        f"v0.{r.randrange(9)}.{r.randrange(40)} ({r.choice(BITS)})",
        f"  * {r.choice(ANSWERS)}",
        "  * the following no longer happens:",
        *("      " + line for line in x),
        f"  * thanks to {r.choice(PEOPLE)}",
    ]
