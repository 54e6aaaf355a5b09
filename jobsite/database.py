"""A database URL as the entry that Django wants, with the options that many processes on one SQLite file need."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("postgresql", "postgres", "sqlite")

# WAL lets readers and the writer pass each other; IMMEDIATE takes the write lock at BEGIN, where waiting helps,
# instead of in the middle of a transaction, where SQLite can only refuse.
SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database_from_url(url: str) -> dict[str, Any]:
    if urlsplit(url).scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {' or '.join(f'{scheme}://' for scheme in SCHEMES)}, as in "
            "postgresql://user:password@host/name; without it the site has an SQLite file of its own."
        )
    database: dict[str, Any] = environ.Env.db_url_config(url)
    if database["ENGINE"] == "django.db.backends.sqlite3":
        database["OPTIONS"] = {**SQLITE_OPTIONS, **database.get("OPTIONS", {})}
    return database


def without_secrets(url: str) -> str:
    """The URL as a terminal may show it: a file, or a server behind a socket that asks for no password."""
    parts = urlsplit(url)
    is_open = not parts.hostname and not parts.password and "password" not in parse_qs(parts.query)
    return f"'{url}'" if is_open else "... (yours)"
