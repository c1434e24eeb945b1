"""Signs what nodes send with the secret of the run: who said it, what, and after what.

The secret itself never travels. The number in a signature only ever grows, so that nothing can be
said twice by somebody who listened.
"""

from __future__ import annotations

import hashlib
import hmac
import time

NODE, NUMBER, DIGEST = "X-Unhang-Node", "X-Unhang-Number", "X-Unhang-Digest"
SIGNATURE = "X-Unhang-Signature"


def key_of(secret: str) -> bytes:
    """The key that a secret stands for."""
    return hmac.new(secret.encode(), b"unhang reports", hashlib.sha256).digest()


def digest_of(body: bytes) -> str:
    """What stands for a body in its signature."""
    return hashlib.sha256(body).hexdigest()


def sign(key: bytes, *parts: str) -> str:
    """The signature of some texts, in this order."""
    return hmac.digest(key, "\0".join(parts).encode(), "sha256").hex()


def headers_for(key: bytes, path: str, node: str, body: bytes) -> dict[str, str]:
    """What a request carries besides its body."""
    number, digest = str(time.time_ns()), digest_of(body)
    signature = sign(key, "request", path, node, number, str(len(body)), digest)
    return {NODE: node, NUMBER: number, DIGEST: digest, SIGNATURE: signature}


def is_signed(key: bytes, signature: str, *parts: str) -> bool:
    """Whether the signature is that of these texts."""
    return hmac.compare_digest(signature.encode(errors="replace"), sign(key, *parts).encode())
