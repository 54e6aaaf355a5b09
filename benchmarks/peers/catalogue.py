"""The libraries that the app is measured beside: how each is started, and what the harness must know of its tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.peers import installing
from benchmarks.program_description import POSTGRES, REDIS, REDIS_AND_POSTGRES, SQLITE, Program

HERE = Path(__file__).resolve().parent


def _python(module: str) -> list[str]:
    return [str(installing.PYTHON), "-m", f"benchmarks.peers.{module}"]


def _node(file: str) -> list[str]:
    return [str(installing.NODE), str(HERE / file)]


def _missing_with_redis(*packages: str) -> str:
    return installing.missing_redis() or installing.missing_python(*packages)


DJANGO_TASKS_PACKAGES = ("django-tasks-db", "Django", "psycopg")
DJANGO_TASKS_DB = Program(
    name="django_tasks_db",
    argv=partial(_python, "django_tasks_db"),
    stores=(POSTGRES, SQLITE),
    remaining="SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status IN ('READY', 'RUNNING')",
    history=(
        # For PostgreSQL only: SQLite has neither of the two functions.
        """
        INSERT INTO django_tasks_database_dbtaskresult (
            id, status, args_kwargs, priority, task_path, queue_name, backend_name, run_after, enqueued_at, started_at,
            finished_at, return_value, exception_class_path, traceback, worker_ids)
        SELECT gen_random_uuid(), status, args_kwargs, priority, task_path, queue_name, backend_name, run_after,
            enqueued_at, started_at, finished_at, return_value, exception_class_path, traceback, worker_ids
        FROM (SELECT * FROM django_tasks_database_dbtaskresult WHERE status = 'SUCCESSFUL' LIMIT 1) AS done
        CROSS JOIN generate_series(1, %(n)s)""",
    ),
    audit="job row kept",
    persists="the job's row stays: state, arguments, three times, workers, return value, traceback of the last error",
    profiles={
        "tuned": "db_worker --interval 0.05 --no-startup-delay --verbosity 0; CONN_MAX_AGE=None; one job at a time",
        "default": "db_worker: polls every second, logs each job; CONN_MAX_AGE=0, so it reconnects between jobs",
    },
    handlers=("noop", "sleep", "async_sleep", "query"),
    versions=partial(installing.python_versions, *DJANGO_TASKS_PACKAGES),
    missing=partial(installing.missing_python, *DJANGO_TASKS_PACKAGES),
)

PROCRASTINATE_PACKAGES = ("procrastinate", "Django", "psycopg")
PROCRASTINATE = Program(
    name="procrastinate",
    argv=partial(_python, "procrastinate_program"),
    stores=(POSTGRES,),
    remaining="SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
    history=(
        # A trigger writes the first of the three events, "deferred".
        """
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args, status, attempts)
        SELECT queue_name, task_name, priority, args, status, attempts
        FROM (SELECT * FROM procrastinate_jobs WHERE status = 'succeeded' LIMIT 1) AS done
        CROSS JOIN generate_series(1, %(n)s)""",
        """
        INSERT INTO procrastinate_events (job_id, type)
        SELECT job.id, missed.type
        FROM (SELECT id FROM procrastinate_jobs WHERE status = 'succeeded' ORDER BY id DESC LIMIT %(n)s) AS job
        CROSS JOIN (VALUES ('started'::procrastinate_job_event_type), ('succeeded')) AS missed (type)""",
    ),
    audit="job row + 3 event rows",
    persists="the job's row stays (state, attempts, arguments), and triggers write a row for each of its three moves",
    profiles={
        "tuned": "manage.py procrastinate worker --concurrency 10; async noop; CONN_MAX_AGE=None",
        "default": "manage.py procrastinate worker: one job at a time; async noop; CONN_MAX_AGE=0",
    },
    handlers=("noop", "sleep", "async_sleep", "query"),
    versions=partial(installing.python_versions, *PROCRASTINATE_PACKAGES),
    missing=partial(installing.missing_python, *PROCRASTINATE_PACKAGES),
)

DJANGO_Q2_PACKAGES = ("django-q2", "Django", "psycopg")
DJANGO_Q2 = Program(
    name="django_q2",
    argv=partial(_python, "django_q2"),
    stores=(POSTGRES, SQLITE),
    remaining="SELECT count(*) FROM django_q_ormq",
    history=(
        """
        INSERT INTO django_q_task (
            id, name, func, hook, args, kwargs, result, started, stopped, success, "group", attempt_count, cluster)
        WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < %(n)s)
        SELECT 'history' || i, name, func, hook, args, kwargs, result, started, stopped, success, "group",
            attempt_count, cluster
        FROM (SELECT * FROM django_q_task WHERE success LIMIT 1) AS done CROSS JOIN number""",
    ),
    audit="result row kept",
    persists="the queue's row is deleted; one with arguments, result and two times stays, by default of the last 250",
    profiles={
        "tuned": "ORM broker; workers=1 bulk=100 queue_limit=500 poll=0.05 save_limit=0 (all are kept) recycle=1000000 "
        "log_level=WARNING; CONN_MAX_AGE=None",
        "default": "ORM broker: a process for each core, bulk=1, 250 results kept, polls every 0.2 s; CONN_MAX_AGE=0",
    },
    versions=partial(installing.python_versions, *DJANGO_Q2_PACKAGES),
    missing=partial(installing.missing_python, *DJANGO_Q2_PACKAGES),
)

PGQUEUER_PACKAGES = ("pgqueuer", "asyncpg", "uvloop")
PGQUEUER = Program(
    name="pgqueuer",
    argv=partial(_python, "pgqueuer_program"),
    stores=(POSTGRES,),
    remaining="SELECT count(*) FROM pgqueuer",
    history=(
        # As its workers leave them: counted into its statistics every 30 s, and marked.
        """
        INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, aggregated)
        SELECT -i, moved.status, 0, 'noop', TRUE
        FROM generate_series(1, %(n)s) AS i
        CROSS JOIN (VALUES ('queued'::pgqueuer_status), ('picked'), ('successful')) AS moved (status)""",
    ),
    audit="3 log rows, no arguments",
    persists="the job's row, with its arguments, is deleted; a log has a row for each of its three moves",
    profiles={
        "tuned": "asyncpg pool of 2 to 4 connections, uvloop, batch_size=1000; durable tables",
        "default": "one asyncpg connection, asyncio's own loop, batch_size=10; durable tables",
    },
    versions=partial(installing.python_versions, *PGQUEUER_PACKAGES),
    missing=partial(installing.missing_python, *PGQUEUER_PACKAGES),
)

CELERY_PACKAGES = ("celery", "kombu", "redis")
CELERY = Program(
    name="celery",
    argv=partial(_python, "celery_program"),
    stores=(REDIS,),
    remaining=None,
    # What workers have fetched but not begun is in the second.
    redis_remaining=("celery", "unacked_index"),
    audit="none",
    persists="nothing: a message is gone before its handler runs",
    profiles={
        "tuned": "Redis without persistence, no results; -P solo (sleeping handlers: 10 threads), prefetch multiplier "
        "250, no gossip, mingle, heartbeat",
        "default": "Redis without persistence, no results; prefork, a process for each core, prefetch multiplier 4",
    },
    handlers=("noop", "sleep"),
    versions=partial(installing.python_versions, *CELERY_PACKAGES),
    missing=partial(_missing_with_redis, *CELERY_PACKAGES),
)

CELERY_RESULTS_PACKAGES = (*CELERY_PACKAGES, "django-celery-results", "Django", "psycopg")
CELERY_RESULTS = Program(
    name="celery_results",
    argv=partial(_python, "celery_program"),
    stores=(REDIS_AND_POSTGRES,),
    # A job that waits has no row. Those of one drain are told from earlier ones by their time.
    remaining="SELECT %(jobs)s - count(*) FROM django_celery_results_taskresult WHERE date_created > %(since)s",
    history=(
        """
        INSERT INTO django_celery_results_taskresult (
            task_id, status, content_type, content_encoding, result, date_created, date_started, date_done, traceback,
            meta, task_name, task_args, task_kwargs, worker, periodic_task_name)
        SELECT gen_random_uuid(), status, content_type, content_encoding, result, date_created, date_started, date_done,
            traceback, meta, task_name, task_args, task_kwargs, worker, periodic_task_name
        FROM (SELECT * FROM django_celery_results_taskresult LIMIT 1) AS done
        CROSS JOIN generate_series(1, %(n)s)""",
    ),
    audit="result row kept",
    persists="a row for each finished job: state, name, arguments, result, worker, times; nothing before it finished",
    profiles={
        "tuned": "Redis without persistence, django-celery-results with result_extended; 4 threads (sleeping handlers: "
        "10), prefetch multiplier 250, no gossip, mingle, heartbeat; connections kept by CELERY_DB_REUSE_MAX",
        "default": "Redis without persistence, django-celery-results with result_extended; prefork, a process for each "
        "core; a connection for each job",
    },
    handlers=("noop", "sleep", "query"),
    environment={"BENCH_CELERY_RESULTS": "1"},
    versions=partial(installing.python_versions, *CELERY_RESULTS_PACKAGES),
    missing=partial(_missing_with_redis, *CELERY_RESULTS_PACKAGES),
)

HUEY = Program(
    name="huey",
    argv=partial(_python, "huey_program"),
    stores=(REDIS,),
    remaining=None,
    redis_remaining=("huey.redis.bench",),
    audit="none",
    persists="nothing: a job is popped before its handler runs, and a result of None is not stored",
    profiles={
        "tuned": "Redis without persistence; 2 threads, quiet",
        "default": "Redis without persistence; 1 thread, logs each job",
    },
    versions=partial(installing.python_versions, "huey", "redis"),
    missing=partial(_missing_with_redis, "huey", "redis"),
)

HUEY_SQLITE = Program(
    name="huey_sqlite",
    argv=partial(_python, "huey_program"),
    stores=(SQLITE,),
    remaining="SELECT count(*) FROM task",
    audit="none",
    persists="nothing: a job's row is deleted before its handler runs, and a result of None is not stored",
    profiles={
        "tuned": "1 thread, polls every 10 to 50 ms, quiet; WAL, synchronous=NORMAL",
        "default": "1 thread, polls every 0.1 to 10 s, logs each job; WAL, synchronous=FULL",
    },
    versions=partial(installing.python_versions, "huey"),
    missing=partial(installing.missing_python, "huey"),
)

PGBOSS = Program(
    name="pgboss",
    argv=partial(_node, "pgboss.mjs"),
    stores=(POSTGRES,),
    remaining="SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state < 'completed'",
    history=(
        """
        INSERT INTO pgboss.job (
            name, priority, data, state, retry_limit, retry_count, start_after, created_on, started_on, completed_on,
            keep_until, policy, output)
        SELECT name, priority, data, state, retry_limit, retry_count, start_after, created_on, started_on, completed_on,
            keep_until, policy, output
        FROM (SELECT * FROM pgboss.job WHERE name = 'noop' AND state = 'completed' LIMIT 1) AS done
        CROSS JOIN generate_series(1, %(n)s)""",
    ),
    audit="job row kept",
    persists="the job's row stays for 7 days: state, arguments, three times, number of retries, output",
    profiles={
        "tuned": "batchSize 500, localConcurrency 2, burstWhenBatchFull, pollingIntervalSeconds 0.5, NOTIFY",
        "default": "one job at a time, polls every 2 s, no NOTIFY",
    },
    backlog_per_profile=True,  # the queue is created with NOTIFY or without
    versions=partial(installing.node_versions, "pg-boss", "pg", "node"),
    missing=partial(installing.missing_node, "pg-boss", "pg"),
)

GRAPHILE_WORKER = Program(
    name="graphile_worker",
    argv=partial(_node, "graphile_worker.mjs"),
    stores=(POSTGRES,),
    remaining="SELECT count(*) FROM graphile_worker._private_jobs",
    audit="none (row deleted)",
    persists="nothing: the job's row is deleted when it has succeeded",
    profiles={
        "tuned": "concurrentJobs 24, maxPoolSize 10, localQueue.size 1000, completeJobBatchDelay 0, logs errors only",
        "default": "one job at a time, no local queue, polls every 2 s and NOTIFY, logs each job",
    },
    versions=partial(installing.node_versions, "graphile-worker", "pg", "node"),
    missing=partial(installing.missing_node, "graphile-worker", "pg"),
)

PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        DJANGO_TASKS_DB,
        PROCRASTINATE,
        DJANGO_Q2,
        PGQUEUER,
        CELERY,
        CELERY_RESULTS,
        HUEY,
        HUEY_SQLITE,
        PGBOSS,
        GRAPHILE_WORKER,
    )
}
