"""Checks that ask the database, which Django does where it is told to: `check --database default`, and `migrate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, register
from django.db import NotSupportedError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

from jobs_app.checks.telling import error, jobs_connection, warning
from jobs_app.conf import get_settings
from jobs_app.insights.doctor.database import database_too_old
from jobs_app.insights.doctor.finding import Level, few
from jobs_app.insights.doctor.pooler import are_sessions_shared
from jobs_app.insights.doctor.settings import debug_mode
from jobs_app.insights.tables import missing_tables

SOON_ENOUGH_SECONDS = 1.0  # a job that waits so long for a poll is not missed by anybody


@register(Tags.database)
def server_is_new_enough(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    connection = _asked_of(databases)
    sentence = None if connection is None else _why_too_old(connection)
    return [] if sentence is None else [error("E009", sentence, hint="Upgrade the database, then Django and this app.")]


@register(Tags.database)
def tables_exist(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    # A warning, because `migrate` itself stops at errors; and none in a database that had no migration yet.
    connection = answering(databases)
    if connection is None or not MigrationRecorder(connection).has_table():
        return []
    missing = missing_tables(connection)
    if not missing:
        return []
    sentence = f"Tables are missing in database {connection.alias!r}: {few(missing)}."
    return [warning("W010", sentence, hint=f"Run manage.py migrate jobs_app --database {connection.alias}.")]


@register(Tags.database)
def workers_hear_of_jobs(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Nobody is asked where nobody listens, or where polls are as good."""
    connection = answering(databases)
    if connection is None or connection.vendor != "postgresql":
        return []
    settings = get_settings()
    if not settings.worker_listen or settings.worker_poll_seconds <= SOON_ENOUGH_SECONDS:
        return []
    if not are_sessions_shared(connection):
        return []
    return [
        warning(
            "W012",
            f"A pooler in transaction mode is in front of database {connection.alias!r}: workers listen in vain, and "
            f"find a new job only when they poll, every {settings.worker_poll_seconds:g} seconds.",
            hint="Give workers a port in session mode; or set WORKER_LISTEN to False in settings.JOBS, and "
            f"WORKER_POLL_SECONDS to {SOON_ENOUGH_SECONDS:g} or less.",
        )
    ]


@register(Tags.database, deploy=True)
def workers_do_not_debug(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Those that are alive, so that nobody is told who only tries something. A worker also tells it when it starts."""
    connection = answering(databases)
    if connection is None or missing_tables(connection):
        return []
    found = [each for each in debug_mode.findings(connection) if each.level != Level.OK]
    return [warning("W017", finding.sentence, hint=finding.advice) for finding in found]


def answering(databases: Sequence[str] | None) -> BaseDatabaseWrapper | None:
    """The connection that holds the jobs, if Django was told to ask that database, and lets us."""
    connection = _asked_of(databases)
    if connection is None:
        return None
    try:
        connection.ensure_connection()
    except NotSupportedError:
        return None  # told by the check of its age
    return connection


def _asked_of(databases: Sequence[str] | None) -> BaseDatabaseWrapper | None:
    connection = jobs_connection()
    return connection if connection is not None and connection.alias in (databases or ()) else None


def _why_too_old(connection: BaseDatabaseWrapper) -> str | None:
    try:
        found = database_too_old.findings(connection)
    except NotSupportedError as refusal:  # Django has an opinion, too
        return f"Django refuses database {connection.alias!r}: {refusal}"
    return next((finding.sentence for finding in found if finding.level == Level.PROBLEM), None)
