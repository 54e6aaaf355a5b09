"""Checks of where the jobs are, and of how that database is configured, without asking it."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, register
from django.db import DEFAULT_DB_ALIAS, router
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.checks.telling import TAG, error, jobs_connection, silenced_with, warning
from jobs_app.conf import get_settings
from jobs_app.models import Job
from jobs_app.registry import registry

BESIDE_HANDLERS = 6  # connections of a worker's own: it claims, finishes, beats, listens, schedules, and cleans up
POOL_SIZE = 4  # psycopg's, where the settings give none


@register(TAG)
def engine_is_supported(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    if connection is None or connection.vendor == "sqlite" or _is_psycopg3(connection):
        return []
    found = "psycopg2" if connection.vendor == "postgresql" else connection.vendor
    return [
        error(
            "E004",
            f"The jobs are in database {connection.alias!r}, which is used through {found}.",
            hint="Use PostgreSQL with psycopg 3, or SQLite; settings.JOBS['DATABASE'] may name another database.",
        )
    ]


@register(TAG)
def routers_agree(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    if connection is None:
        return []
    alias, sentences = connection.alias, []
    for act in ("db_for_read", "db_for_write"):
        answer = _router_answer(act)
        if get_settings().database is not None and answer not in (None, alias):
            sentences.append(f"settings.JOBS['DATABASE'] is {alias!r}, but {act} of a router says {answer!r}.")
    if not router.allow_migrate_model(alias, Job):
        sentences.append(f"The jobs are in database {alias!r}, where a router does not allow their tables.")
    hint = f"Let the routers send the app 'jobs_app' to {alias!r}, or change settings.JOBS['DATABASE']."
    return [error("E005", sentence, hint=hint) for sentence in sentences]


@register(TAG)
def atomic_jobs_share_the_database(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    names = [job_type.name for job_type in registry if job_type.atomic]
    if connection is None or connection.alias == DEFAULT_DB_ALIAS or not names:
        return []
    return [
        error(
            "E006",
            f"atomic=True cannot hold for {', '.join(names)}: the jobs are in database {connection.alias!r}, and what "
            f"handlers write to {DEFAULT_DB_ALIAS!r} neither commits nor rolls back with them.",
            hint="Remove atomic=True and make the handlers safe to repeat, or keep the jobs in the default database. "
            f"It does hold for handlers that write to models in {connection.alias!r} only. {silenced_with('E006')}",
        )
    ]


@register(TAG)
def enqueues_join_the_transactions(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    if connection is None or connection.alias == DEFAULT_DB_ALIAS:
        return []
    return [
        warning(
            "W004",
            f"The jobs are in database {connection.alias!r}: a job that is enqueued in a transaction of another "
            "database is stored at once, and stays when that transaction rolls back.",
            hint=f"Enqueue in transaction.on_commit, or keep the jobs in the default database. {silenced_with('W004')}",
        )
    ]


@register(TAG)
def pool_is_large_enough(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    size = None if connection is None else _pool_size(connection)
    if connection is None or size is None:
        return []
    slots = get_settings().worker_concurrency
    needed = slots + BESIDE_HANDLERS
    if size >= needed:
        return []
    return [
        warning(
            "W005",
            f"The connection pool of database {connection.alias!r} has {size} connections at most, and a worker with "
            f"{slots} slots needs up to {needed}: its threads would wait for each other.",
            hint=f'Set "OPTIONS": {{"pool": {{"max_size": {needed}}}}} for it in settings.DATABASES, or lower '
            "settings.JOBS['WORKER_CONCURRENCY'].",
        )
    ]


@register(TAG)
def sqlite_writes_at_once(**kwargs: Any) -> list[CheckMessage]:
    connection = jobs_connection()
    if connection is None or connection.vendor != "sqlite":
        return []
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode") or "DEFERRED"
    if mode.upper() != "DEFERRED":
        return []
    return [
        warning(
            "W002",
            f"Transactions of database {connection.alias!r} lock only when they write, so that one which read first "
            "fails with 'database is locked' when a worker wrote in between, whatever the timeout.",
            hint='Add "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, '
            '"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"} to it in settings.DATABASES.',
        )
    ]


def _pool_size(connection: BaseDatabaseWrapper) -> int | None:
    """How many connections Django's pool may open; None where there is none."""
    pool = connection.settings_dict["OPTIONS"].get("pool")
    if not pool:
        return None
    options = pool if isinstance(pool, dict) else {}
    return int(options.get("max_size") or options.get("min_size", POOL_SIZE))


def _is_psycopg3(connection: BaseDatabaseWrapper) -> bool:
    if connection.vendor != "postgresql":
        return False
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    return bool(is_psycopg3)


def _router_answer(act: str) -> str | None:
    """What the first router with an opinion says; None where only Django's default would answer."""
    for each in router.routers:
        answer = getattr(each, act)(Job) if hasattr(each, act) else None
        if answer:
            return str(answer)
    return None
