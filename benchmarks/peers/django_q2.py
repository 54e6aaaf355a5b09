"""Django Q2 with its ORM broker, on PostgreSQL or SQLite.

A worker is a tree of processes: one claims, `workers` run, one stores results and deletes what ran. The last is the
slowest, so the tuned profile has one process that runs, and hands it up to 100 claimed jobs at once, with 500 on the
way. It keeps every result, as others do: by default only 250 are kept, and older ones are deleted job by job. It polls
every 50 ms, never replaces a process that runs jobs, does not log two lines for each job, and keeps connections. There
is no bulk enqueue: `async_iter` enqueues one by one.
"""

from __future__ import annotations

import os
import warnings

import django
from django.conf import settings

from benchmarks.peers import program

NEEDED = {"name": "bench", "orm": "default"}
TUNED = {
    "workers": 1,
    "bulk": 100,
    "queue_limit": 500,
    "save_limit": 0,  # all
    "poll": 0.05,
    "recycle": 1_000_000,
    "log_level": "WARNING",
}

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
os.environ["BENCH_APPS"] = "django_q"
settings.Q_CLUSTER = {**NEEDED, **(TUNED if program.IS_TUNED else {})}
with warnings.catch_warnings(action="ignore"):  # that jobs longer than a minute would be retried; ours are not
    django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django_q.tasks import async_task  # noqa: E402


def noop(n: int) -> None:
    program.record(n)


if __name__ == "__main__":
    program.main(
        setup=lambda: call_command("migrate", verbosity=0),
        single=lambda n: async_task("benchmarks.peers.django_q2.noop", n=n),
        bulk=None,
        worker=lambda: call_command("qcluster"),
        warm=connection.ensure_connection,
    )
