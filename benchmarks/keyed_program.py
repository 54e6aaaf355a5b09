"""jobs_app with jobs of which only one at a time may run per key, as a measured program.

BENCH_KEYS says how many keys the jobs share, BENCH_KEY_PREFIX how their names begin.
"""

from __future__ import annotations

import os

import django

from benchmarks.peers import program

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
os.environ["BENCH_APPS"] = "jobs_app"
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from jobs_app import job  # noqa: E402

KEYS = int(os.environ.get("BENCH_KEYS", "1000"))
PREFIX = os.environ.get("BENCH_KEY_PREFIX", "key")


@job(name="keyed", queue="keyed", policy="singleton", key="key")
def keyed(n: int, key: str) -> None:
    program.record(n)


def payload(n: int) -> dict[str, object]:
    return {"n": n, "key": f"{PREFIX}{n % KEYS}"}


if __name__ == "__main__":
    program.main(
        setup=lambda: call_command("migrate", verbosity=0),
        single=lambda n: keyed.enqueue(**payload(n)),
        bulk=lambda numbers: keyed.enqueue_many(payload(n) for n in numbers),
        worker=lambda: call_command("runworker", verbosity=0),
        warm=connection.ensure_connection,
    )
