"""Whether a webhook comes from the project: this file needs none of the others."""

from __future__ import annotations

import hashlib
import hmac
import re
import time


def verify_webhook(body: bytes, header: str, secret: str, *, tolerance: float = 300, now: float | None = None) -> bool:
    """Whether `header` (Jobs-Signature) is of this body and this secret, and at most `tolerance` seconds away."""
    if not secret:
        raise ValueError("without a secret anybody could sign; give the one of the webhook")
    pairs = [part.strip().partition("=")[::2] for part in header.split(",")]
    moment = next((value for name, value in pairs if name == "t"), "")
    if not re.fullmatch(r"[0-9]{1,12}", moment):
        return False
    right = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest().encode()
    # Several while a secret is replaced. All are compared, each in constant time.
    matches = [hmac.compare_digest(value.encode(errors="replace"), right) for name, value in pairs if name == "v1"]
    return any(matches) and abs((time.time() if now is None else now) - int(moment)) <= tolerance
