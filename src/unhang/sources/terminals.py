r"""From what is typed into a terminal to the hosts whose answers stand below.

People paste what they asked their hosts. Whose answer a line is stands in the prompt, in the
command, before the line, or in a heading between the answers::

    kk@vega-1:~$ ip -br addr                          the host of the prompt
    $ ssh dl4 sudo ethtool enp5s0f0                   the host that the command names
    $ pdsh -w el[06-11] ibstat                        `el09: State: Down`
    $ for h in c1 c2; do echo $h; ssh $h ip addr; done        `c1`, alone or between marks
    -- rk03 --                                        a heading: a name with a number

A heading that names no host ends the answer above it, and so does the next prompt.
"""

from __future__ import annotations

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.model.host_lists import expand_hosts
from unhang.sources.plan import Wanted

_PATTERNS = named("unhang.sources", "data/terminals.toml")
_PROMPT = _PATTERNS["prompt"]
_LOOP = _PATTERNS["loop"]
_SSH = _PATTERNS["ssh"]
_EXEC = _PATTERNS["exec"]
_GATHERS = _PATTERNS["gathers"]
_NO_HOST = _PATTERNS["no_host"]
_OF_OTHERS = _PATTERNS["of_others"]
_HEADING = re.compile(
    r"\s{0,4}(?P<mark>-{2,40}|={2,40}|#{2,40}|\*{2,40}|~{2,40}|>{2,6})\s?"
    r"(?P<says>[A-Za-z].{0,120}?)\s?(?:-{2,40}|={2,40}|#{2,40}|\*{2,40}|~{2,40}|<{2,6}|:)?\s*$"
)
_NAME = re.compile(r"(?:\w{1,20}@)?(?P<host>[A-Za-z][A-Za-z_.-]{0,60}\d[\w.-]{0,60})")
_GATHERED = re.compile(r"(?P<host>[A-Za-z][\w.-]{0,80}): ?")
_LONGEST = 400
_MOST_HOSTS = 4_096
_AFTER = 400
"""Lines below a command that may be its answer."""


class HostsAbove:
    """Tells whose answer each line of one artifact is."""

    WANTED = Wanted(
        needles=(
            *("pdsh ", "clush ", "dsh -", "ssh ", " exec ", "for h in", "for n in", "for i in"),
            *("for host in", "for node in", "]# ", "]$ ", ":~$ ", ":~# ", "~]$ ", "~]# "),
            *("-- ", "== ", "## ", "** "),
        ),
        before=0,
        after=_AFTER,
        sampled=True,
    )

    def __init__(self) -> None:
        self._host: str | None = None
        self._under: str | None = None  # the host that the last heading names
        self._names: frozenset[str] = frozenset()
        self._gathered = False

    def see(self, text: str) -> tuple[str | None, int]:
        """Whose answer a line is, and how long the name is that stands before it.

        Called for all lines in order; a command and a heading are nobody's answer.
        """
        if len(text) > _LONGEST:
            return self._host, 0
        typed = _PROMPT.match(text)
        if typed is not None:
            self._take(typed["host"] or typed["bare"], typed["typed"] or "")
            return None, 0
        if self._gathered:
            gathered = _GATHERED.match(text)
            if gathered is not None and self._is_asked(gathered["host"]):
                return gathered["host"], gathered.end()
        bare = text.strip().strip("-=#*~> :")
        if bare in self._names:
            self._host = bare
            return None, 0
        heading = _HEADING.match(text)
        if heading is None:
            return self._host, 0
        named = _NAME.fullmatch(heading["says"])
        is_host = named is not None and _NO_HOST.match(named["host"]) is None
        self._host = self._under = named["host"] if is_host and named is not None else None
        return None, 0

    def _take(self, host: str | None, command: str) -> None:
        """Take a command that was typed on a host."""
        loop, ssh, executed = (p.search(command) for p in (_LOOP, _SSH, _EXEC))
        gathers = _GATHERS.search(command)
        self._host, self._names, self._gathered = None, frozenset(), gathers is not None
        if loop is not None or gathers is not None:
            listed = [m["hosts"] for m in (loop, gathers) if m is not None]
            self._names = frozenset().union(*(_expanded(names or "") for names in listed))
        elif executed is not None:
            self._host = executed["pod"]
        elif ssh is not None and not ssh["host"].startswith("$"):
            self._host = ssh["host"]
        elif _OF_OTHERS.search(command) is None:
            self._host = host or self._under

    def _is_asked(self, host: str) -> bool:
        return host in self._names or not self._names


def _expanded(text: str) -> frozenset[str]:
    """The names of a list; a variable of the shell names nobody."""
    names = [name for part in text.split() for name in expand_hosts(part)][:_MOST_HOSTS]
    return frozenset(name for name in names if name[0].isalpha())
