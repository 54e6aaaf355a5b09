"""A walk through all migrations, each done, undone and done again with rows in the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from functools import cache
from typing import Any
from uuid import uuid4

from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.db.models.fields import NOT_PROVIDED
from django.utils import timezone

from tests.models import catalogue
from tests.models.catalogue import OURS, Catalogue

# What the rules of a table ask for, where the first thing that fits a column would not do.
FITTING = {"jobrun": {"state": "succeeded"}, "pause": {"scope": "queue"}, "schedulestate": {"interval_seconds": 60}}
UNIQUE = ("name", "prefix")  # they tell rows apart

MADE_ELSEWHERE = (models.AutoField, models.BigAutoField, models.CompositePrimaryKey)


@dataclass(frozen=True)
class Step:
    name: str
    before: Catalogue
    after: Catalogue
    undone: Catalogue
    again: Catalogue
    rows: dict[str, list[int]]  # of each table that is there before and after: how many at each turn


def migration_names() -> list[str]:
    return sorted(name for app, name in MigrationExecutor(connection).loader.disk_migrations if app == OURS)


def walk() -> Iterator[Step]:
    """From nothing to the newest state. Rows of the code of before and of after are there at each turn."""
    earlier = None
    for name in migration_names():
        fill(earlier, f"before {name}")
        before, counted = catalogue.read(), [count(earlier, name)]
        migrate(name)
        after = catalogue.read()
        counted.append(count(earlier, name))
        fill(name, f"after {name}")
        counted.append(count(earlier, name))
        migrate(earlier)
        undone = catalogue.read()
        counted.append(count(earlier, name))
        migrate(name)
        counted.append(count(earlier, name))
        rows = {table: [each[table] for each in counted] for table in counted[0]}
        yield Step(name, before, after, undone, catalogue.read(), rows)
        earlier = name


def migrate(name: str | None) -> None:
    """To this one, forward or back; without what Django does after migrations of a whole project."""
    MigrationExecutor(connection).migrate([(OURS, name)])


def fill(name: str | None, mark: str) -> None:
    """A row in each table of the state after this migration."""
    for model in _tables(name):
        model.objects.create(**_values(model, mark))


def count(earlier: str | None, later: str) -> dict[str, int]:
    """Rows in the tables that both states have."""
    both = {model._meta.db_table for model in _tables(earlier)} & {model._meta.db_table for model in _tables(later)}
    found = {}
    with connection.cursor() as cursor:
        for table in sorted(both):
            cursor.execute(f"SELECT count(*) FROM {table}")
            found[table] = cursor.fetchone()[0]
    return found


@cache  # to make the models of a state takes longer than all that is done with them
def _tables(name: str | None) -> list[Any]:
    if name is None:
        return []
    state = MigrationExecutor(connection).loader.project_state([(OURS, name)])
    return [model for model in state.apps.get_app_config(OURS).get_models() if model._meta.managed]


def _values(model: Any, mark: str) -> dict[str, Any]:
    needed = [each for each in model._meta.local_concrete_fields if _must_be_given(each)]
    values = {each.name: _value(each, mark) for each in needed}
    return values | FITTING.get(model._meta.model_name, {})


def _must_be_given(one: models.Field) -> bool:
    has_value = one.has_default() or one.db_default is not NOT_PROVIDED or one.null
    return (not has_value or one.name in UNIQUE) and not isinstance(
        one, models.AutoField | models.BigAutoField | models.CompositePrimaryKey
    )


def _value(one: models.Field, mark: str) -> Any:
    if one.choices:
        return one.choices[0][0]
    made = {
        "UUIDField": uuid4,
        "DateTimeField": timezone.now,
        "TimeField": lambda: time(7),
        "JSONField": dict,
        "CharField": lambda: mark[: one.max_length],
        "TextField": lambda: mark,
        "BooleanField": lambda: True,
    }
    return made.get(one.get_internal_type(), lambda: 1)()
