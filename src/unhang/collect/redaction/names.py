"""Replaces names of hosts, users, addresses and places by pseudonyms that stay the same.

Equal names get equal pseudonyms within a bundle, and in all bundles that were made with the same
key (UNHANG_REDACT_KEY), so that the ranks of several nodes still match. What tells the program
apart stays: file names, and what lies below `site-packages` or `lib/python3`.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable

_SHORTEST = 2
_KEPT_ROOTS = (
    *("/proc/", "/sys/", "/dev/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/"),
    *("/run/", "/pytorch/", "/path-"),
)
_PATH = re.compile(r"(?<![\w.~/-])(?:/[\w.@+=~%-]{1,200}){2,40}/?")
_INNER = re.compile(r"/(?:lib/python3|lib64/python3|site-packages/|dist-packages/)")
_IPV4 = re.compile(r"(?<![\d.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[\w:]*\d)[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_MAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")
_HOME = re.compile(r"/(?:home|Users|users)/(?P<user>[\w.-]{2,64})")
_COMMON = frozenset(
    {
        "localhost",
        "root",
        "python",
        "python3",
        "torch",
        "rank",
        "node",
        "host",
        "data",
        "train",
        "user",
    }
)
_OPEN_ADDRESS = ("127.", "0.0.0.0", "255.255.255")  # noqa: S104 (no socket is bound)


class Pseudonyms:
    """Replaces names by pseudonyms.

    Args:
        hosts: names of hosts that are known; the first part of a full name counts too.
        users: names of users that are known.
        key: makes the pseudonyms; nobody without it can test a guess.
    """

    def __init__(self, hosts: Iterable[str], users: Iterable[str], key: bytes) -> None:
        self._key = key
        self._addresses: dict[str, str] = {}
        self._marks: dict[tuple[str, str], bytes] = {}
        self._hosts = {
            part for host in hosts for part in (host, host.split(".")[0]) if _names(part)
        }
        self._users = {user for user in users if _names(user)}
        self._words = _alternatives(self._hosts | self._users)

    def host(self, name: str) -> str:
        """The pseudonym of a host; readers take it for a host's name, too."""
        return f"node-{self._digits('host', name.split('.', maxsplit=1)[0], 10)}"

    def user(self, name: str) -> str:
        """The pseudonym of a user."""
        return f"user-{self._digits('user', name, 8)}"

    def address(self, text: str) -> str:
        """An address of a range that nobody uses, for an address; or `text` where it is none."""
        if text not in self._addresses:
            self._addresses[text] = self._address(text)
        return self._addresses[text]

    def _address(self, text: str) -> str:
        try:
            found = ipaddress.ip_address(text)
        except ValueError:
            return text
        if found.is_loopback or found.is_unspecified or text.startswith(_OPEN_ADDRESS):
            return text
        mark = self._mark("address", text)
        if found.version == 4:
            if found in _RESERVED:
                return text
            return str(_RESERVED[int.from_bytes(mark[:4], "big") % _RESERVED.num_addresses])
        if found in _RESERVED_6:
            return text
        return str(_RESERVED_6[int.from_bytes(mark[:10], "big")])

    def place(self, path: str) -> str:
        """A path whose folders say nothing; its file name stays."""
        if path.startswith(_KEPT_ROOTS):
            return path
        inner = _INNER.search(path)
        cut = inner.start() if inner is not None else path.rstrip("/").rfind("/")
        if cut <= 0:
            return path
        return f"/path-{self._digits('path', path[:cut], 8)}{path[cut:]}"

    def replace(self, text: str, count: Callable[[str], None]) -> str:
        """Return `text` with pseudonyms; `count` is told the kind of each."""
        users = {match["user"] for match in _HOME.finditer(text)} if "/" in text else set()
        words = self._words
        if any(_names(user) and user not in self._users for user in users):
            fresh = {user for user in users if _names(user)}
            words = _alternatives(self._hosts | self._users | fresh)
        text = _MAIL.sub(lambda m: _told(count, "mail address", m[0], "[mail address]"), text)
        if words is not None:
            text = words.sub(lambda m: self._name(m[0], count), text)
        text = _PATH.sub(lambda m: _told(count, "path", m[0], self.place(m[0])), text)
        for pattern in (_IPV4, _IPV6):
            text = pattern.sub(lambda m: _told(count, "address", m[0], self.address(m[0])), text)
        return text

    def _name(self, name: str, count: Callable[[str], None]) -> str:
        if name in self._hosts:
            return _told(count, "host", name, self.host(name))
        return _told(count, "user", name, self.user(name))

    def _digits(self, kind: str, name: str, number: int) -> str:
        value = int.from_bytes(self._mark(kind, name)[:12], "big")
        return f"{value % 10**number:0{number}d}"

    def _mark(self, kind: str, name: str) -> bytes:
        found = self._marks.get((kind, name))
        if found is None:
            found = hmac.new(self._key, f"{kind}\0{name}".encode(), hashlib.sha256).digest()
            self._marks[kind, name] = found
        return found


_RESERVED = ipaddress.IPv4Network("240.0.0.0/4")
_RESERVED_6 = ipaddress.IPv6Network("2001:db8::/32")


def _names(word: str) -> bool:
    """Whether a word is long and rare enough to be replaced wherever it stands."""
    return len(word) >= _SHORTEST and word.lower() not in _COMMON and not word.isdigit()


def _alternatives(words: set[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    listed = "|".join(re.escape(word) for word in sorted(words, key=lambda w: (-len(w), w)))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])")


def _told(count: Callable[[str], None], kind: str, old: str, new: str) -> str:
    if new != old:
        count(kind)
    return new
