"""Finds names of hosts, users and accounts by what stands around them."""

from __future__ import annotations

from collections.abc import Iterator

from unhang import lazy_re as re
from unhang.model.host_lists import expand_hosts
from unhang.model.toml import load

_NAME = r"[A-Za-z0-9](?:[\w-]{0,62})(?:\.[A-Za-z0-9][\w-]{0,62}){0,6}"
_RANGE = r"\d{1,9}(?:-\d{1,9})?"

_DATA = load("unhang.redaction", "contexts.toml")
_HOSTS, _USERS, _ACCOUNTS = (
    [re.compile(text.replace("{name}", rf"(?P<name>{_NAME})")) for text in _DATA[kind]]
    for kind in ("hosts", "users", "accounts")
)
BRACKETS = re.compile(
    rf"(?P<stem>[\w.-]*?)\[(?P<ranges>{_RANGE}(?:,{_RANGE}){{0,2000}})\](?P<rest>[\w.-]*)"
)
_LIST = re.compile(
    r"(?:NODELIST|NodeList|nodelist|LSB_HOSTS|nodes)\\?[\"']?[=:]\s?\\?[\"']?(?P<list>[\w.,\[\]-]{2,4000})"
)
_BUCKETS = re.compile(
    r"\bbucket(?:_name)?\\?[\"']?\s?[=:]\s?\\?[\"']?(?P<name>[a-z0-9][a-z0-9.-]{2,62})(?![\w/])"
)


def find_hosts(text: str) -> Iterator[str]:
    """Yield names of hosts."""
    for pattern in _HOSTS:
        for match in pattern.finditer(text):
            if match["name"] is not None:
                yield match["name"].rstrip(".-_")
    for match in _LIST.finditer(text):
        yield from expand_hosts(match["list"])


def find_users(text: str) -> Iterator[str]:
    """Yield names of users."""
    return (match["name"] for pattern in _USERS for match in pattern.finditer(text))


def find_accounts(text: str) -> Iterator[str]:
    """Yield names of accounts, projects and buckets."""
    return (match["name"] for pattern in _ACCOUNTS for match in pattern.finditer(text))


def find_buckets(text: str) -> Iterator[str]:
    """Yield names of buckets."""
    return (match["name"] for match in _BUCKETS.finditer(text))
