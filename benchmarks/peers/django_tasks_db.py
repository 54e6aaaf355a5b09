"""django-tasks-db: the database backend of Django's tasks, on PostgreSQL or SQLite.

A worker takes one task at a time and runs it in its only thread; there is nothing to set for that. So the tuned profile
only keeps the connection (the worker asks Django to close old ones twice for each task), looks for work every 50 ms
instead of every second, starts without its random delay of up to a second, and does not log lines for each task.
There is no bulk enqueue.
"""

from __future__ import annotations

import asyncio
import os
import time

import django
from django.conf import settings

from benchmarks.peers import program

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
os.environ["BENCH_APPS"] = "django_tasks_db"
settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

try:
    from django.tasks import task
except ImportError:  # before Django 6.0
    from django_tasks import task

TUNED = ["--interval=0.05", "--no-startup-delay", "--verbosity=0"]


# A task is stored as the path of its name in this module, so each needs one: a function of `handlers` has none here.
@task
def noop(n: int) -> None:
    program.record(n)


@task
def sleep(n: int) -> None:
    program.record(n)
    time.sleep(program.SLEEP_SECONDS)


@task
async def async_sleep(n: int) -> None:
    program.record(n)
    await asyncio.sleep(program.SLEEP_SECONDS)


@task
def query(n: int) -> None:
    program.record(n)
    User.objects.filter(pk=n).exists()


def work() -> None:
    more = os.environ.get("BENCH_WORKER_ARGS", "").split()
    call_command("db_worker", *(TUNED if program.IS_TUNED else []), *more)


if __name__ == "__main__":
    measured = {"noop": noop, "sleep": sleep, "async_sleep": async_sleep, "query": query}[program.HANDLER]
    program.main(
        setup=lambda: call_command("migrate", verbosity=0),
        single=lambda n: measured.enqueue(n=n),
        bulk=None,
        worker=work,
        warm=connection.ensure_connection,
    )
