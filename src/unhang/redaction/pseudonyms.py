"""Replaces names of hosts, users, accounts, buckets, addresses, identifiers and places.

Equal names get equal pseudonyms within a bundle or report, and in all that were made with the same
key (UNHANG_REDACT_KEY), so that the ranks of several nodes still match. What tells the program
apart stays: file names, and what lies below `site-packages` or `lib/python3`.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
from collections.abc import Callable, Iterable

from unhang import lazy_re as re
from unhang.model.forms import named
from unhang.model.host_lists import expand_hosts
from unhang.model.toml import load
from unhang.redaction.contexts import (
    BRACKETS,
    find_accounts,
    find_buckets,
    find_hosts,
    find_users,
)

KEY_VARIABLE = "UNHANG_REDACT_KEY"
"""Who sets it alike on all nodes gets equal pseudonyms for equal names."""

_SHORTEST = 2
_MOST_NAMES = 4_000
_MOST_LISTED = 256
_KEPT_ROOTS = (
    *("/proc/", "/sys/", "/dev/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/"),
    *("/run/", "/pytorch/", "/path-"),
)
_PATH = re.compile(r"(?<![\w.~/:-])(?:/[\w.@+=~%-]{1,200}){2,40}/?")
_INNER = re.compile(r"/(?:lib/python3|lib64/python3|site-packages/|dist-packages/)")
_IPV4 = re.compile(r"(?<![\d.])(?<!==)(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?=[\w:]*\d)[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:])")
_PATTERNS = named("unhang.redaction", "pseudonyms_patterns.toml")
_IPV4_DASHED = _PATTERNS["ipv4_dashed"]
_MAC = _PATTERNS["mac"]
_UUID = _PATTERNS["uuid"]
_GUID = re.compile(r"(?<![\w:.])[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?![\w:])")
_GUID_NAMED = _PATTERNS["guid_named"]
_MAIL = re.compile(r"(?<![/\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")
_HOME = re.compile(r"/(?:home|Users|users)/(?P<user>[\w.-]{2,64})")
_STORE = _PATTERNS["store"]
_STORE_HOST = _PATTERNS["store_host"]
_STORE_PATH = _PATTERNS["store_path"]
_ACCOUNT_NUMBER = re.compile(r"(?:(?<=:)|\b)(?!0000)\d{12}(?=:|\.dkr\.ecr)")
_DOMAIN = _PATTERNS["domain"]
_DOMAIN_AFTER_SLASHES = re.compile(_DOMAIN.pattern.replace(r"(?<![\w.@/-])", r"(?<=//)"))
_PUBLIC = _PATTERNS["public"]
_COMMON = frozenset(load("unhang.redaction", "words.toml")["common"])
_OPEN_ADDRESS = ("127.", "0.0.0.0", "255.255.255")  # noqa: S104 (no socket is bound)
_OURS = re.compile(r"(?:node|user|account|bucket|path)-\d{4,12}\b")

_Step = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]


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
        self._kinds: dict[str, str] = {}
        self._words: re.Pattern[str] | None = None
        self._stale = False
        self._note("user", users)
        self.learn_hosts(hosts)

    @classmethod
    def keyed(cls, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> Pseudonyms:
        """With the key of the user's (UNHANG_REDACT_KEY), or one that nobody knows."""
        key = os.environ.get(KEY_VARIABLE, "").encode() or secrets.token_bytes(16)
        return cls(hosts, users, key)

    def learn_hosts(self, names: Iterable[str]) -> None:
        """Note hosts; the first part of a full name counts, too."""
        self._note("host", (part for name in names for part in (name, name.split(".")[0])))

    def learn(self, text: str) -> None:
        """Note names that a text tells by what stands around them."""
        for host in set(find_hosts(text)):
            if _PUBLIC.search(host) is None:
                short = host.split(".")[0]
                self._note("host", (host, short) if any(c.isdigit() for c in short) else (host,))
        self._note("user", find_users(text))
        self._note("account", find_accounts(text))
        self._note("bucket", find_buckets(text))

    def host(self, name: str) -> str:
        """The pseudonym of a host; readers take it for a host's name, too."""
        short = name.lower().split(".", maxsplit=1)[0]
        return name if _OURS.fullmatch(name) else f"node-{self._digits('host', short, 10)}"

    def user(self, name: str) -> str:
        """The pseudonym of a user."""
        return f"user-{self._digits('user', name, 8)}"

    def address(self, text: str) -> str:
        """An address of a range that nobody uses, for an address; or `text` where it is none."""
        if text not in self._addresses:
            self._addresses[text] = self._address(text)
        return self._addresses[text]

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
        self._note("user", (match["user"] for match in _HOME.finditer(text)))
        words = self._pattern()
        stores: tuple[_Step, ...] = (
            ("bucket", _STORE, self._stored),
            ("bucket", _STORE_HOST, lambda m: f"{self._bucket(m['bucket'])}.{m['service']}"),
            ("bucket", _STORE_PATH, lambda m: f"{m['service']}/{self._bucket(m['bucket'])}"),
            ("host", BRACKETS, self._listed),
        )
        others: tuple[_Step, ...] = (
            ("mail address", _MAIL, lambda _: "[mail address]"),
            ("identifier", _UUID, self._hexadecimal),
            ("identifier", _GUID, self._hexadecimal),
            ("identifier", _GUID_NAMED, self._named_guid),
            ("address", _MAC, self._mac),
            ("address", _IPV4_DASHED, lambda m: self.host(m[0])),
            ("account", _ACCOUNT_NUMBER, lambda m: f"0000{self._digits('account', m[0], 8)}"),
            ("host", _DOMAIN, self._domain),
            ("host", _DOMAIN_AFTER_SLASHES, self._domain),
            ("path", _PATH, lambda m: self.place(m[0])),
            ("address", _IPV4, lambda m: self.address(m[0])),
            ("address", _IPV6, lambda m: self.address(m[0])),
        )
        for kind, pattern, change in stores:
            text = pattern.sub(_teller(kind, change, count), text)
        if words is not None:
            text = words.sub(lambda m: self._name(m[0], count), text)
        for kind, pattern, change in others:
            text = pattern.sub(_teller(kind, change, count), text)
        return text

    def _note(self, kind: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._kinds and _names(name) and len(self._kinds) < _MOST_NAMES:
                self._kinds[name] = kind
                self._stale = True

    def _pattern(self) -> re.Pattern[str] | None:
        if self._stale:
            self._words, self._stale = _alternatives(self._kinds), False
        return self._words

    def _name(self, name: str, count: Callable[[str], None]) -> str:
        kind = self._kinds.get(name) or self._kinds.get(name.lower(), "host")
        count(kind)
        if kind == "host":
            return self.host(name)
        if kind == "bucket":
            return self._bucket(name)
        return self.user(name) if kind == "user" else self._account(name)

    def _listed(self, match: re.Match[str]) -> str:
        """The hosts of a scheduler's list (`gpu-[07-09]`), where they are hosts that we know."""
        names = sorted(set(expand_hosts(match[0])))[:_MOST_LISTED]
        if not any(name in self._kinds for name in names):
            return match[0]
        return ",".join(self.host(name) for name in names)

    def _account(self, name: str) -> str:
        return f"account-{self._digits('account', name, 8)}"

    def _bucket(self, name: str) -> str:
        return name if _OURS.fullmatch(name) else f"bucket-{self._digits('bucket', name, 8)}"

    def _stored(self, match: re.Match[str]) -> str:
        """The bucket, the account behind an @, the folders; the file name stays."""
        container, at, service = match["bucket"].partition("@")
        account, dot, rest = service.partition(".")
        told = self._bucket(container) + (f"@{self._bucket(account)}{dot}{rest}" if at else "")
        folders, slash, name = match["path"].rpartition("/")
        ours = folders.startswith("/path-")
        place = folders if not folders or ours else f"/path-{self._digits('path', folders, 8)}"
        return f"{match['scheme']}://{told}{place}{slash}{name}"

    def _domain(self, match: re.Match[str]) -> str:
        name = match[0]
        return name if _PUBLIC.search(name) or _OURS.match(name) else self.host(name)

    def _hexadecimal(self, match: re.Match[str]) -> str:
        """Other digits, grouped as they were; the same for either case."""
        old = match[0]
        if old.startswith("dd00"):
            return old
        digits = self._mark("identifier", re.sub(r"\W", "", old.lower())).hex()
        fresh = iter("dd00" + digits)
        return "".join(next(fresh) if char.isalnum() else char for char in old)

    def _named_guid(self, match: re.Match[str]) -> str:
        guid = match["guid"]
        if guid.startswith("dd00"):
            return match[0]
        fresh = "dd00" + self._mark("identifier", guid.lower()).hex()[:12]
        return match[0][: match.start("guid") - match.start()] + fresh

    def _mac(self, match: re.Match[str]) -> str:
        old = match[0].lower()
        if set(old) <= set("0:-") or set(old) <= set("f:-") or old.startswith("02:dd"):
            return match[0]
        pairs = re.split("[:-]", old)
        mark = self._mark("address", old.replace("-", ":"))
        fresh = ["02", "dd", *(f"{mark[i]:02x}" for i in range(len(pairs) - 2))]
        return match["joint"].join(fresh)

    def _address(self, text: str) -> str:
        try:
            found = ipaddress.ip_address(text)
        except ValueError:
            return text
        if found.is_loopback or found.is_unspecified or text.startswith(_OPEN_ADDRESS):
            return text
        mark = self._mark("address", found.compressed)
        if found.version == 4:
            if found in _RESERVED:
                return text
            return str(_RESERVED[int.from_bytes(mark[:4], "big") % _RESERVED.num_addresses])
        if found in _RESERVED_6:
            return text
        return str(_RESERVED_6[int.from_bytes(mark[:10], "big")])

    def _digits(self, kind: str, name: str, number: int) -> str:
        value = int.from_bytes(self._mark(kind, name)[:12], "big")
        return f"{value % 10**number:0{number}d}"

    def _mark(self, kind: str, name: str) -> bytes:
        found = self._marks.get((kind, name))
        if found is None:
            found = hmac.new(
                self._key, f"{kind}\0{name}".encode(errors="replace"), hashlib.sha256
            ).digest()
            self._marks[kind, name] = found
        return found


_RESERVED = ipaddress.IPv4Network("240.0.0.0/4")
_RESERVED_6 = ipaddress.IPv6Network("2001:db8::/32")


def _names(word: str) -> bool:
    """Whether a word is long and rare enough to be replaced wherever it stands."""
    return (
        len(word) >= _SHORTEST
        and word.lower() not in _COMMON
        and not word.isdigit()
        and _OURS.fullmatch(word) is None
        and _IPV4.fullmatch(word) is None
        and _PUBLIC.search(word) is None
    )


def _alternatives(words: Iterable[str]) -> re.Pattern[str] | None:
    listed = "|".join(re.escape(word) for word in sorted(words, key=lambda w: (-len(w), w)))
    return (
        re.compile(rf"(?<![A-Za-z0-9])(?:{listed})(?![A-Za-z0-9])", re.IGNORECASE)
        if listed
        else None
    )


def _teller(
    kind: str, change: Callable[[re.Match[str]], str], count: Callable[[str], None]
) -> Callable[[re.Match[str]], str]:
    def told(match: re.Match[str]) -> str:
        new = change(match)
        if new != match[0]:
            count(kind)
        return new

    return told
