"""How a check speaks: an id that never changes, what is wrong, what to do, and where that is written at length."""

from __future__ import annotations

from django.core import checks
from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.errors import SettingsInvalid

TAG = "jobs_app"
PAGE = "docs/checks.md"


def error(number: str, sentence: str, *, hint: str) -> CheckMessage:
    return Error(sentence, hint=_with_page(number, hint), id=f"{TAG}.{number}")


def warning(number: str, sentence: str, *, hint: str) -> CheckMessage:
    return checks.Warning(sentence, hint=_with_page(number, hint), id=f"{TAG}.{number}")


def silenced_with(number: str) -> str:
    """For a hint: what is told may be just what somebody wants."""
    return f"If that is meant, silence this with SILENCED_SYSTEM_CHECKS = ['{TAG}.{number}']."


def jobs_connection() -> BaseDatabaseWrapper | None:
    """The connection that holds the jobs; None where the settings are too wrong to say."""
    from jobs_app.models import jobs_database  # here: one check is asked where the app is not installed

    try:
        alias = jobs_database()
    except SettingsInvalid:
        return None
    return connections[alias] if alias in connections.settings else None


def _with_page(number: str, hint: str) -> str:
    return f"{hint} See {PAGE}#{number.lower()}."
