"""What proves to a receiver who sent a request, and when: an HMAC over the moment and the body."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

HEADER = "Jobs-Signature"


def signature(body: bytes, *, secrets: Sequence[str], at: int) -> str:
    """The value of the header: the moment in seconds since 1970, and an HMAC for each secret."""
    return ",".join([f"t={at}", *(f"v1={_mac(secret, body, at)}" for secret in secrets)])


def _mac(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
