"""Which of the app's tables, and which indexes and constraints of them, the database lacks; and what to do about it."""

from __future__ import annotations

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.utils.translation import gettext_noop

from jobs_app.lifecycle.migrated import missing_migrations
from jobs_app.models import MenuEntry

# As commands say it; a page translates it.
UNMIGRATED = gettext_noop("Database %(database)s lacks migrations of jobs_app: %(missing)s.")
MIGRATE = gettext_noop("Run manage.py migrate --database %(database)s, and then try again.")


def unmigrated(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """What the sentences above need; nothing where every migration is applied."""
    missing = missing_migrations(connection)
    return {"database": connection.alias, "missing": ", ".join(missing)} if missing else {}


def missing_tables(connection: BaseDatabaseWrapper) -> list[str]:
    """Views among them."""
    wanted = {model._meta.db_table for model in _stored()}
    return sorted(wanted.difference(connection.introspection.table_names(include_views=True)))


def missing_indexes(connection: BaseDatabaseWrapper) -> list[str]:
    """By name, of the tables that are there. It reads the catalogue: a few rows for each table."""
    there = set(connection.introspection.table_names())
    tables = [model for model in _stored() if model._meta.managed and model._meta.db_table in there]
    missing: set[str] = set()
    with connection.cursor() as cursor:
        for model in tables:
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
            missing |= _named(model).difference(found)
    return sorted(missing)


def table_names() -> list[str]:
    """Of what holds rows."""
    return sorted(model._meta.db_table for model in _stored() if model._meta.managed)


def _stored() -> list[type[Model]]:
    return [model for model in apps.get_app_config("jobs_app").get_models() if not issubclass(model, MenuEntry)]


def _named(model: type[Model]) -> set[str]:
    return {each.name for each in (*model._meta.indexes, *model._meta.constraints)}
