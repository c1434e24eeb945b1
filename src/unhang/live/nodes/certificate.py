"""Derives the collector's key and certificate from the secret that all nodes of a run share.

Who knows the secret knows the certificate, byte for byte, and accepts no other: nothing has to be
made, copied or trusted beforehand. Python has no library that makes certificates, so the few lines
of P-256 and DER that one needs are here; the connection itself is OpenSSL's. They run once, on
this machine only, so that their time tells nobody anything. (SEC 1, FIPS 186-5, RFC 5280.)
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ssl
import tempfile
from functools import lru_cache
from typing import NamedTuple

_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_Point = tuple[int, int]

_SALT = b"unhang collector"
_SCRYPT = {"n": 1 << 14, "r": 8, "p": 1, "dklen": 48}

_OID_EC_KEY = bytes.fromhex("06072a8648ce3d0201")
_OID_P256 = bytes.fromhex("06082a8648ce3d030107")
_OID_ECDSA_SHA256 = bytes.fromhex("06082a8648ce3d040302")
_OID_COMMON_NAME = bytes.fromhex("0603550403")


class NodeCertificate(NamedTuple):
    """A certificate (DER), and its key (PEM)."""

    certificate: bytes
    key: str

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate."""
        return hashlib.sha256(self.certificate).hexdigest()


@lru_cache(maxsize=4)
def identity_of(secret: str) -> NodeCertificate:
    """The collector's certificate and key for a secret; equal for equal secrets."""
    seed = hashlib.scrypt(secret.encode(), salt=_SALT, **_SCRYPT)
    private = int.from_bytes(seed, "big") % (_N - 1) + 1
    public = _times(private, _G)
    point = b"\x04" + public[0].to_bytes(32, "big") + public[1].to_bytes(32, "big")
    name = _sequence(_tagged(0x31, _sequence(_OID_COMMON_NAME, _tagged(0x0C, b"unhang"))))
    told = _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(int.from_bytes(hashlib.sha256(point).digest()[:8], "big") >> 1 | 1),
        _sequence(_OID_ECDSA_SHA256),
        name,
        _sequence(_tagged(0x17, b"200101000000Z"), _tagged(0x17, b"491231235959Z")),
        name,
        _sequence(_sequence(_OID_EC_KEY, _OID_P256), _tagged(0x03, b"\0" + point)),
    )
    signature = _sign(private, told)
    certificate = _sequence(told, _sequence(_OID_ECDSA_SHA256), _tagged(0x03, b"\0" + signature))
    key = _sequence(
        _integer(1),
        _tagged(0x04, private.to_bytes(32, "big")),
        _tagged(0xA0, _OID_P256),
        _tagged(0xA1, _tagged(0x03, b"\0" + point)),
    )
    return NodeCertificate(certificate, _pem("EC PRIVATE KEY", key))


def server_context(secret: str) -> ssl.SSLContext:
    """What a collector listens with."""
    identity = identity_of(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # readable by its owner only
        file.write(_pem("CERTIFICATE", identity.certificate) + identity.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def client_context() -> ssl.SSLContext:
    """What a node connects with; the certificate must be compared with the one that is known."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _sign(private: int, data: bytes) -> bytes:
    """ECDSA with SHA-256; the nonce comes from key and data, so that it never repeats."""
    digest = int.from_bytes(hashlib.sha256(data).digest(), "big")
    seed = hmac.new(private.to_bytes(32, "big"), data, hashlib.sha512).digest()
    nonce = int.from_bytes(seed, "big") % (_N - 1) + 1
    r = _times(nonce, _G)[0] % _N
    s = pow(nonce, -1, _N) * (digest + r * private) % _N
    return _sequence(_integer(r), _integer(s))


def _times(factor: int, point: _Point) -> _Point:
    result: _Point | None = None
    addend: _Point | None = point
    while factor:
        if factor & 1:
            result = _sum(result, addend)
        addend = _sum(addend, addend)
        factor >>= 1
    assert result is not None
    return result


def _sum(one: _Point | None, other: _Point | None) -> _Point | None:
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % _P == 0:
            return None
        slope = 3 * (one[0] * one[0] - 1) * pow(2 * one[1], -1, _P) % _P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P) % _P
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def _tagged(tag: int, body: bytes) -> bytes:
    size = len(body)
    if size < 0x80:
        return bytes([tag, size]) + body
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, b"".join(parts))


def _integer(number: int) -> bytes:
    return _tagged(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _pem(kind: str, data: bytes) -> str:
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {kind}-----\n{text}-----END {kind}-----\n"
