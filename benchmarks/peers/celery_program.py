"""Celery with Redis as its broker; with BENCH_CELERY_RESULTS=1, django-celery-results stores results in the database.

The tuned profile fetches 250 jobs ahead for each slot instead of 4, and leaves out what workers tell each other. For
noop its pool is the one that was found fastest: `solo` (one job at a time, in the main thread), and with results 4
threads, which `query` has too. For `sleep` it has 10 threads, not searched for but as many as our own worker runs at
once. The default is prefork with a process for each core. With a database the tuned profile also keeps the connection:
Celery closes it after each job, whatever CONN_MAX_AGE says, unless CELERY_DB_REUSE_MAX allows it to be used again.
There is no bulk enqueue, and an async handler is not run.
"""

from __future__ import annotations

import os

from celery import Celery

from benchmarks.peers import handlers, program

STORES_RESULTS = os.environ.get("BENCH_CELERY_RESULTS") == "1"
NEEDS_DJANGO = STORES_RESULTS or program.HANDLER == "query"
QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat"]

if NEEDS_DJANGO:
    if not program.URL:
        raise SystemExit("BENCH_URL is not set: this handler, or its results, need a database.")
    # Celery looks for this when the app is made.
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    os.environ["BENCH_APPS"] = "django_celery_results" if STORES_RESULTS else ""
    import django

    django.setup()


def make_app() -> Celery:
    app = Celery("bench", broker=program.REDIS, backend="django-db" if STORES_RESULTS else None)
    app.conf.task_ignore_result = not STORES_RESULTS
    app.conf.result_extended = True  # store the name and the arguments too, as others do
    app.conf.broker_connection_retry_on_startup = True
    if program.IS_TUNED:
        app.conf.worker_prefetch_multiplier = 250
        app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000
    return app


def pool() -> list[str]:
    if program.HANDLER == "sleep":
        return ["--pool=threads", "--concurrency=10"]
    if NEEDS_DJANGO:
        return ["--pool=threads", "--concurrency=4"]
    return ["--pool=solo"]


def setup() -> None:
    if NEEDS_DJANGO:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)


if __name__ == "__main__":
    app = make_app()
    measured = app.task(name=program.HANDLER)(handlers.chosen(handlers.noop, handlers.sleep, handlers.query))
    more = os.environ.get("BENCH_WORKER_ARGS", "").split()
    program.main(
        setup=setup,
        single=lambda n: measured.apply_async(kwargs={"n": n}),
        bulk=None,
        worker=lambda: app.worker_main(["worker", *([*pool(), *QUIET] if program.IS_TUNED else []), *more]),
    )
