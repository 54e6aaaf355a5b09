"""Procrastinate with its Django app, on PostgreSQL.

A job is claimed, and its end is stored, by a transaction each. The tuned profile runs 10 jobs at once in the worker's
event loop, so that those waits overlap; the default is 1. NOTIFY is on in both. The noop handler is async in both: a
plain function would go through a thread for each job. `sleep` and `query` are plain and do go through threads, of which
there are as many at once as asyncio's own pool has: cores + 4, whatever the concurrency is.
"""

from __future__ import annotations

import os

import django

from benchmarks.peers import handlers, program

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
os.environ["BENCH_APPS"] = "procrastinate.contrib.django"
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from procrastinate.contrib.django import app  # noqa: E402

TUNED = ["--concurrency=10"]


async def noop(n: int) -> None:
    program.record(n)


def work() -> None:
    more = os.environ.get("BENCH_WORKER_ARGS", "").split()
    call_command("procrastinate", "worker", *(TUNED if program.IS_TUNED else []), *more)


if __name__ == "__main__":
    measured = app.task(name=program.HANDLER)(
        handlers.chosen(noop, handlers.sleep, handlers.async_sleep, handlers.query)
    )
    program.main(
        setup=lambda: call_command("migrate", verbosity=0),
        single=lambda n: measured.defer(n=n),
        bulk=lambda numbers: measured.batch_defer(*({"n": n} for n in numbers)),
        worker=work,
        warm=connection.ensure_connection,
    )
