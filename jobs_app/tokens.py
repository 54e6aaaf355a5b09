"""The text of an API token: what a program sends, and the two parts of it that may be stored."""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from dataclasses import dataclass, field

SCOPES = ("pull", "report", "trigger", "read", "operate", "metrics")
PREFIX_LENGTH = 8
SECRET_LENGTH = 43  # of 62 characters: 256 bits

# Scanners for secrets that got into a repository or a log find it by its first word. Letters and digits only, so that
# a double click selects the whole of it.
TOKEN = re.compile(r"jobs_([a-z0-9]{8})_[A-Za-z0-9]{43}")
PREFIX = re.compile(r"[a-z0-9]{8}")


@dataclass(frozen=True)
class NewToken:
    text: str = field(repr=False)  # told once, stored nowhere
    prefix: str  # by which it is found, and by which people name it
    token_hash: str


def new_token() -> NewToken:
    prefix = _random(string.ascii_lowercase + string.digits, PREFIX_LENGTH)
    text = f"jobs_{prefix}_{_random(string.ascii_letters + string.digits, SECRET_LENGTH)}"
    return NewToken(text, prefix, hash_of(text))


def prefix_of(text: str) -> str | None:
    """None: this is no token, whatever else it may be."""
    match = TOKEN.fullmatch(text)
    return match[1] if match else None


def hash_of(text: str) -> str:
    """A plain hash is enough: nobody guesses 256 random bits, so that it need not be slow."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _random(letters: str, length: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(length))
