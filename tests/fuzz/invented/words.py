"""Words that the rest is made of, and the short lines around what is shown."""

from __future__ import annotations

import random

Lines = list[str]


def _of(words: str) -> Lines:
    return words.split()


PEOPLE = _of("ines tomasz okoro yuki bram leila anselm petra dov marit sunil chiara")
HOSTS = _of("pine quartz heron tuba basalt orca fjell lynx")
MODULES = _of("train finetune sft_main pretrain grpo run_clm launch_rl")
BITS = _of("harbor velvet copper lantern meadow cipher walnut ember")
LEAD_NOUNS = _of(
    "sample excerpt snippet transcript record example item document passage entry message"
    " generation"
)
SAID = (
    "any idea what this means?",
    "saw this again on the other cluster:",
    "is that ours or the switch?",
    "this is what it printed before lunch",
    "can somebody have a look",
)
ANSWERS = (
    "That is the memory of the host, ask for more of it.",
    "I would drain the node and open a ticket with the vendor.",
    "Looks like what we had in spring; a newer driver helped.",
    "Nothing to worry about, the retry went through.",
    "First compare the versions on both nodes, then rerun with one of them.",
)


def number(r: random.Random) -> int:
    return r.choice((r.randrange(9), r.randrange(100), r.randrange(100_000)))


def some_id(r: random.Random) -> str:
    return r.choice(
        (
            f"{r.choice(BITS)}-{number(r)}",
            f"{r.choice(BITS)}_{r.choice(BITS)}",
            f"{r.randrange(16**8):08x}",
            f"#{number(r)}",
        )
    )


def lead(r: random.Random) -> str:
    """A line that says that something follows."""
    noun = r.choice(LEAD_NOUNS)
    return r.choice(
        (
            f"Here is the {noun} that {r.choice(PEOPLE).title()} sent in:",
            f"First {noun} of shard {number(r)}:",
            f"decoded {noun} {number(r)} of {r.choice(BITS)}:",
            f"A random {noun} from the {r.choice(BITS)} corpus reads as follows",
            f"{noun.title()} ({some_id(r)}):",
            f"printing one {noun} so that the tokenizer can be checked",
            f"The policy wrote this {noun} (temperature {r.random():.1f}):",
        )
    )


def tail(r: random.Random) -> str:
    """A line of the same voice that follows."""
    return r.choice(
        (
            f"({r.randrange(9, 4000)} tokens, {r.randrange(9)} truncated)",
            f"length {r.randrange(9, 9000)}, kept",
            f"End of the {r.choice(LEAD_NOUNS)}.",
            r.choice(ANSWERS),
            f"-- {r.choice(PEOPLE)}",
            f"label: {r.choice(('hardware', 'memory', 'network', 'user'))}",
        )
    )
