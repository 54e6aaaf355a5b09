"""Databases for sites: files beside them, or some of their own on the server that the tests use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.db import connection

from jobsite.database import SQLITE_OPTIONS


def files(folder: Path, *aliases: str) -> dict[str, Any]:
    return {
        alias: {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(folder / f"{alias}.sqlite3"),
            "OPTIONS": SQLITE_OPTIONS,
        }
        for alias in aliases
    }


@contextmanager
def on_the_server(*aliases: str) -> Iterator[dict[str, Any]]:
    made = {alias: f"dropin_{uuid4().hex}" for alias in aliases}
    server = {name: connection.settings_dict[name] for name in ("ENGINE", "HOST", "PORT", "USER", "PASSWORD")}
    options = {name: value for name, value in connection.settings_dict["OPTIONS"].items() if isinstance(value, str)}
    try:
        for name in made.values():
            _do(f"CREATE DATABASE {name}")
        yield {alias: {**server, "NAME": name, "OPTIONS": options} for alias, name in made.items()}
    finally:
        for name in made.values():
            _do(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _do(statement: str) -> None:
    """Outside of any transaction, which is where databases are made."""
    session = connection.copy()
    try:
        with session.cursor() as cursor:
            cursor.execute(statement)
    finally:
        session.close()
