"""Hiding what should not be shown: values under names that stand for secrets."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "[hidden]"

# Long words are found anywhere in a name; short ones only as a word of their own, so that "monkey" and "author" stay.
SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|authorization|apikey|privatekey|cookie"
    r"|(?<![a-z])(key|auth|pass|pwd|pin|cvv|cvc)s?(?![a-z])"
)
NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def redact(value: Any) -> Any:
    """A copy of JSON data with the values of secret names replaced, at any depth."""
    if isinstance(value, dict):
        return {name: _shown(name, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [redact(inner) for inner in value]
    return value


def is_secret(name: str) -> bool:
    """`apiKey`, `api-key` and `API_KEY` are the same name."""
    return SECRET.search(NEW_WORD.sub("_", name).lower()) is not None


def _shown(name: str, value: Any) -> Any:
    if value is None or not is_secret(name):
        return redact(value)
    return HIDDEN
