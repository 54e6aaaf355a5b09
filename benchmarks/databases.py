"""Databases of a benchmark's own, beside the one that DATABASE_URL names, which is left as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from jobsite.database import database_from_url


class Databases:
    def __init__(self, home: str, prefix: str) -> None:
        self._home = home
        self._prefix = prefix
        self._made: list[str] = []

    def migrate(self) -> None:
        """Make the one that all others are copies of."""
        self._make(self._prefix, template="template1")
        self._use(self._prefix)
        call_command("migrate", verbosity=0)

    def make(self, name: str) -> None:
        self._make(f"{self._prefix}_{name}", template=self._prefix)

    def use(self, name: str) -> None:
        self._use(f"{self._prefix}_{name}")

    def drop_all(self) -> None:
        self._use(self._home)
        for name in self._made:
            run(f'DROP DATABASE "{name}" WITH (FORCE)')
        connection.close()

    def _make(self, name: str, template: str) -> None:
        self._use(self._home)
        run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        self._made.append(name)

    def _use(self, name: str) -> None:
        connection.close()
        connection.settings_dict["NAME"] = name


@contextmanager
def own_databases(**more: Any) -> Iterator[Databases]:
    """Django, set up for them, with these settings beside what every benchmark needs; they are dropped at the end."""
    database = database_from_url(os.environ["DATABASE_URL"])
    needed = {
        "DATABASES": {"default": database},
        "INSTALLED_APPS": ["django.contrib.contenttypes", "django.contrib.auth", "jobs_app"],
        "USE_TZ": True,
        "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
    }
    settings.configure(**needed | more)
    django.setup()
    databases = Databases(database["NAME"], f"jobs_app_bench_{os.getpid()}")
    try:
        databases.migrate()
        yield databases
    finally:
        databases.drop_all()


def run(sql: str, parameters: Any = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []
