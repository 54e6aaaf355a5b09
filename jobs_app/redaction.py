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
# In text. The name of a class is none: a KeyError may say what it likes.
NAMED = re.compile(
    r"""(?<![\w-])(?P<name>(?!\w*(?:Error|Exception)\b)[\w-]+)["']?\s*(?:=|:(?!//))\s*"""
    r"""(?:(?:Basic|Bearer|Digest|Token)\s+)?"""
    # In quotes, or cut before their end; what is put together goes to the end of its line.
    r"""(?P<value>\w{0,2}"(?:\\.?|[^"\\])*(?:"|\Z)|\w{0,2}'(?:\\.?|[^'\\])*(?:'|\Z)|\w*[\[({][^\n]*|[^\s,;&)}\]"']+)"""
)
CREDENTIALS = re.compile(r"\b(?:Basic|Bearer|Digest)\s+(?P<value>[\w.~+/=-]{4,})")
IN_URL = re.compile(r"(?<=://)(?:[^\s/@]+|[^\s/@:]+:[^\s@]+)(?=@)")
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


def _shown(name: object, value: Any) -> Any:
    if value is None or not is_secret(str(name)):  # what was given wrongly may have any key, and is told too
        return redact(value)
    return HIDDEN


def redact_text(text: str) -> str:
    """Text with the same replaced where it tells name and value, as in `token=...`; and users and passwords of URLs."""
    text = IN_URL.sub(HIDDEN, text)
    kept, place = [], 0
    while match := NAMED.search(text, place):
        hides = is_secret(match["name"])
        kept += [text[place : match.start("value")], HIDDEN] if hides else [text[place : match.start("value")]]
        place = match.end("value") if hides else match.start("value")  # a value may have names of its own in it
    return CREDENTIALS.sub(HIDDEN, "".join([*kept, text[place:]]))
