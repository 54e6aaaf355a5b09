"""Which of the app's tables, and which indexes and constraints of them, the database lacks."""

from __future__ import annotations

from django.apps import apps
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from jobs_app.models import MenuEntry


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
