"""System checks: what would not work, found before the first job is enqueued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings as django_settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.management import get_commands
from django.db import DEFAULT_DB_ALIAS, connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

from jobs_app.conf import get_settings
from jobs_app.errors import SettingsInvalid
from jobs_app.insights.tables import missing_tables
from jobs_app.models import Job, jobs_database
from jobs_app.registry import registry

TAG = "jobs_app"
COMMANDS = {"runworker": "jobs worker", "runscheduler": "jobs scheduler", "jobs": ""}  # each with its other name
BESIDE_HANDLERS = 6  # connections of a worker's own: it claims, finishes, beats, listens, schedules, and cleans up
POOL_SIZE = 4  # psycopg's, where the settings give none


@register(TAG)
def settings_are_valid(**kwargs: Any) -> list[CheckMessage]:
    try:
        alias = get_settings().database
    except SettingsInvalid as problem:
        return [Error(str(problem), hint="Correct the name or the value in settings.JOBS.", id="jobs_app.E001")]
    if alias is None or alias in connections.settings:
        return []
    return [
        Error(
            f"settings.JOBS['DATABASE'] is {alias!r}, which is not in settings.DATABASES.",
            hint=f"Use one of {', '.join(sorted(connections.settings))}, or add the database.",
            id="jobs_app.E002",
        )
    ]


@register(TAG)
def time_zones_are_on(**kwargs: Any) -> list[CheckMessage]:
    if django_settings.USE_TZ:
        return []
    return [
        Error(
            "settings.USE_TZ is False: moments without a time zone cannot say when a job is due.",
            hint="Set USE_TZ = True.",
            id="jobs_app.E003",
        )
    ]


@register(TAG, deploy=True)
def jobs_are_left_to_workers(**kwargs: Any) -> list[CheckMessage]:
    if _jobs_connection() is None or not get_settings().eager:
        return []
    return [
        checks.Warning(
            "settings.JOBS['EAGER'] is on: whoever enqueues a job runs it, and waits for it.",
            hint="It is for development. Switch it off, and start manage.py runworker.",
            id="jobs_app.W006",
        )
    ]


@register(TAG)
def engine_is_supported(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    if connection is None or connection.vendor == "sqlite" or _is_psycopg3(connection):
        return []
    found = "psycopg2" if connection.vendor == "postgresql" else connection.vendor
    return [
        Error(
            f"The jobs are in database {connection.alias!r}, which is used through {found}.",
            hint="Use PostgreSQL with psycopg 3, or SQLite; settings.JOBS['DATABASE'] may name another database.",
            id="jobs_app.E004",
        )
    ]


@register(TAG)
def routers_agree(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    if connection is None:
        return []
    alias, messages = connection.alias, []
    for act in ("db_for_read", "db_for_write"):
        answer = _router_answer(act)
        if get_settings().database is not None and answer not in (None, alias):
            messages.append(f"settings.JOBS['DATABASE'] is {alias!r}, but {act} of a router says {answer!r}.")
    if not router.allow_migrate_model(alias, Job):
        messages.append(f"The jobs are in database {alias!r}, where a router does not allow their tables.")
    hint = f"Let the routers send the app 'jobs_app' to {alias!r}, or change settings.JOBS['DATABASE']."
    return [Error(message, hint=hint, id="jobs_app.E005") for message in messages]


@register(TAG)
def atomic_jobs_share_the_database(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    names = [job_type.name for job_type in registry if job_type.atomic]
    if connection is None or connection.alias == DEFAULT_DB_ALIAS or not names:
        return []
    return [
        Error(
            f"atomic=True cannot hold for {', '.join(names)}: the jobs are in database {connection.alias!r}, and what "
            f"handlers write to {DEFAULT_DB_ALIAS!r} neither commits nor rolls back with them.",
            hint="Remove atomic=True and make the handlers safe to repeat, or keep the jobs in the default database. "
            f"If these handlers write to models in {connection.alias!r} only, it does hold: silence this with "
            "SILENCED_SYSTEM_CHECKS = ['jobs_app.E006'].",
            id="jobs_app.E006",
        )
    ]


@register(TAG)
def enqueues_join_the_transactions(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    if connection is None or connection.alias == DEFAULT_DB_ALIAS:
        return []
    return [
        checks.Warning(
            f"The jobs are in database {connection.alias!r}: a job that is enqueued in a transaction of another "
            "database is stored at once, and stays when that transaction rolls back.",
            hint="Enqueue in transaction.on_commit, or keep the jobs in the default database. "
            "Silence this with SILENCED_SYSTEM_CHECKS = ['jobs_app.W004'].",
            id="jobs_app.W004",
        )
    ]


@register(TAG)
def pool_is_large_enough(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    size = None if connection is None else _pool_size(connection)
    if connection is None or size is None:
        return []
    slots = get_settings().worker_concurrency
    needed = slots + BESIDE_HANDLERS
    if size >= needed:
        return []
    return [
        checks.Warning(
            f"The connection pool of database {connection.alias!r} has {size} connections at most, and a worker with "
            f"{slots} slots needs up to {needed}: its threads would wait for each other.",
            hint=f'Set "OPTIONS": {{"pool": {{"max_size": {needed}}}}} for it in settings.DATABASES, or lower '
            "settings.JOBS['WORKER_CONCURRENCY'].",
            id="jobs_app.W005",
        )
    ]


@register(TAG)
def commands_are_ours(**kwargs: Any) -> list[CheckMessage]:
    owners = {name: get_commands().get(name) for name in COMMANDS}
    return [
        checks.Warning(
            f"manage.py {name} is the command of {owner}, not of jobs_app.",
            hint=(f"Use manage.py {other}, which is the same; or put" if other else "Put")
            + f" 'jobs_app' above {owner!r} in INSTALLED_APPS: the first app with a command owns its name.",
            id="jobs_app.W001",
        )
        for (name, owner), other in zip(owners.items(), COMMANDS.values(), strict=True)
        if owner not in (None, "jobs_app")
    ]


@register(TAG)
def sqlite_writes_at_once(**kwargs: Any) -> list[CheckMessage]:
    connection = _jobs_connection()
    if connection is None or connection.vendor != "sqlite":
        return []
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode") or "DEFERRED"
    if mode.upper() != "DEFERRED":
        return []
    return [
        checks.Warning(
            f"Transactions of database {connection.alias!r} lock only when they write, so that one which read first "
            "fails with 'database is locked' when a worker wrote in between, whatever the timeout.",
            hint='Add "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20} to it in settings.DATABASES.',
            id="jobs_app.W002",
        )
    ]


@register(Tags.database)
def tables_exist(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    # A warning, because `migrate` itself stops at errors; and none in a database that had no migration yet.
    connection = _jobs_connection()
    if connection is None or connection.alias not in (databases or ()) or not MigrationRecorder(connection).has_table():
        return []
    missing = missing_tables(connection)
    if not missing:
        return []
    return [
        checks.Warning(
            f"Tables are missing in database {connection.alias!r}: {', '.join(missing)}.",
            hint=f"Run manage.py migrate jobs_app --database {connection.alias}.",
            id="jobs_app.W010",
        )
    ]


def _jobs_connection() -> BaseDatabaseWrapper | None:
    """The connection that holds the jobs; None where the settings are too wrong to say."""
    try:
        alias = jobs_database()
    except SettingsInvalid:
        return None
    return connections[alias] if alias in connections.settings else None


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
