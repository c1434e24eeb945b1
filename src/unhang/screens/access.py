"""Who may see the page: nobody without the token, on this machine neither; others use it, too."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from unhang.errors import UsageError
from unhang.live.messages.loopback import is_loopback

_SHORTEST = 8


class Access:
    """Decides on requests.

    Args:
        host: the address that the server listens on.
        token: what a request must show; None = made up.
        open_to_all: none is needed, for all users of this machine; only on loopback.

    Raises:
        UsageError: the token is too short to be one, or others could come without one.
    """

    def __init__(self, host: str, token: str | None, *, open_to_all: bool = False) -> None:
        if open_to_all and (token is not None or not is_loopback(host)):
            raise UsageError(
                "--no-token is for a page that only this machine can reach; leave out --host and"
                " --token, or --no-token"
            )
        if token is not None and len(token) < _SHORTEST:
            raise UsageError(f"the token has {len(token)} characters; expected {_SHORTEST} or more")
        self.token = None if open_to_all else token or secrets.token_urlsafe(18)
        self._loopback = is_loopback(host)

    def knows_host(self, header: str | None) -> bool:
        """Whether the name by which we were asked may be ours.

        A page of a stranger can let its own name resolve to 127.0.0.1; then the browser sends that
        name. Behind a token that harms nobody.
        """
        if not self._loopback or self.token is not None:
            return True
        try:
            name = urlsplit(f"//{header or ''}").hostname
        except ValueError:
            return False
        return name is not None and is_loopback(name)

    def admits(self, shown: str | None) -> bool:
        """Whether a token that a request shows is the right one, or none is needed."""
        if self.token is None:
            return True
        return hmac.compare_digest((shown or "").encode(), self.token.encode())


def cookie_of(port: int) -> str:
    """The name of the cookie: a browser sends it to every port of a host, so each has its own."""
    return f"unhang_token_{port}"


def shown_token(headers: Mapping[str, str], query: Mapping[str, str], name: str) -> str | None:
    """The token of a request: bearer, `?token=`, or the cookie of this name."""
    kind, _, value = headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if "token" in query:
        return query["token"]
    try:
        cookie = SimpleCookie(headers.get("Cookie", "")).get(name)
    except CookieError:
        cookie = None
    return None if cookie is None else cookie.value
