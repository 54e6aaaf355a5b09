"""A host's past, made by SQL: finished runs over thirty days, what their failures left, roll-ups, schedules, and the
same live work whatever the length of the history."""

from __future__ import annotations

from benchmarks.databases import run

DAYS = 30
ROLLED_UP_DAYS = 7
TYPES, QUEUES, SUBJECTS, WORKERS = 20, 4, 2_000, 5
SCHEDULES, WAITING, RUNNING, EVENTS = 2_000, 2_000, 50, 5_000
CHUNK = 500_000

# A time-ordered id: milliseconds, then the number of the row, which makes it unique.
ID = """
(lpad(to_hex((extract(epoch FROM {at}) * 1000)::bigint), 12, '0') || '70008000'
 || lpad(to_hex({number}), 12, '0'))::uuid
"""

RUNS = f"""
INSERT INTO jobs_app_jobrun (id, state, job_type, queue, subject, run_at, queued_at, first_started_at, started_at,
       finished_at, schedule, attempts, max_attempts, payload, meta, worker_id, outcome, done_reason, error, result)
SELECT {ID.format(at="queued_at", number="n")}, state, 'type-' || type, 'queue-' || type %% {QUEUES},
       CASE WHEN n %% 5 = 0 THEN '' ELSE 'subject-' || n * 7919 %% {SUBJECTS} END,
       queued_at, queued_at, queued_at + wait, queued_at + wait, queued_at + wait + length,
       CASE WHEN n %% 3 = 0 THEN 1 + n %% {SCHEDULES} END, CASE state WHEN 'failed' THEN 3 ELSE 1 END, 3,
       jsonb_build_object('order', n, 'token', 'secret'), '{{}}', 'worker-' || n %% {WORKERS},
       CASE state WHEN 'succeeded' THEN 'success' WHEN 'failed' THEN 'error' ELSE 'cancelled' END,
       CASE state WHEN 'failed' THEN 'exhausted' ELSE '' END,
       CASE state WHEN 'failed' THEN 'no answer' ELSE '' END,
       to_jsonb(n)
  FROM (SELECT n, n %% {TYPES} AS type, now() - (%(size)s - n) * (interval '{DAYS} days' / %(size)s) AS queued_at,
               interval '1 ms' * (n * 7 %% 2000) AS wait, interval '1 ms' * (50 + n * 31 %% 5000) AS length,
               CASE WHEN n %% 50 = 0 THEN 'failed' WHEN n %% 100 = 1 THEN 'cancelled' ELSE 'succeeded' END AS state
          FROM generate_series(%(first)s::bigint, %(last)s) AS n) AS past
"""
ATTEMPTS = """
INSERT INTO jobs_app_jobattempt (job_id, number, token, worker_id, started_at, finished_at, outcome, success,
       error_class, message, traceback)
SELECT id, number, gen_random_uuid(), worker_id, started_at, finished_at, 'error', false,
       'app.Error' || (payload ->> 'order')::bigint / 50 %% 5,
       'no answer', repeat('  File "shop/orders.py", line 7, in call' || chr(10), 5)
  FROM jobs_app_jobrun, generate_series(1, 3) AS number
 WHERE state = 'failed'
"""
# As `lifecycle/rollups.py` writes them, a minute at a time.
ROLL_UPS = f"""
WITH ended AS MATERIALIZED (
       SELECT date_trunc('minute', finished_at) AS at, job_type, queue, state,
              extract(epoch FROM finished_at - started_at) AS length
         FROM jobs_app_jobrun
        WHERE queued_at >= now() - interval '{ROLLED_UP_DAYS} days' AND finished_at < date_trunc('minute', now())),
     minutes AS (
       SELECT generate_series(date_trunc('minute', now() - interval '{ROLLED_UP_DAYS} days'),
                              date_trunc('minute', now() - interval '1 minute'), interval '1 minute') AS at),
     of_type AS (
       SELECT at, job_type, count(*) AS n, sum(length) AS sum, max(length) AS max,
              percentile_disc(0.5) WITHIN GROUP (ORDER BY length) AS p50,
              percentile_disc(0.95) WITHIN GROUP (ORDER BY length) AS p95
         FROM ended GROUP BY at, job_type)
INSERT INTO jobs_app_statsample (at, seconds, series, name, value, count)
SELECT at, 60, series, name, value, n FROM (
       SELECT minutes.at, 'ended', '', count(ended.at), 1 FROM minutes LEFT JOIN ended USING (at) GROUP BY minutes.at
        UNION ALL SELECT at, 'ended.' || state, job_type, count(*), 1 FROM ended GROUP BY at, job_type, state
        UNION ALL SELECT at, 'finished', queue, count(*), 1 FROM ended GROUP BY at, queue
        UNION ALL SELECT at, 'enqueued', queue, count(*), 1 FROM ended GROUP BY at, queue
        UNION ALL SELECT at, 'duration.' || series, job_type, value, n FROM of_type,
                  LATERAL (VALUES ('sum', sum), ('max', max), ('p50', p50), ('p95', p95)) AS told (series, value)
        UNION ALL SELECT at, series, 'queue-' || queue, 10 + queue, 1 FROM minutes,
                  generate_series(0, {QUEUES} - 1) AS queue,
                  unnest(ARRAY['waiting', 'running', 'oldest_wait']) AS series
       ) AS samples (at, series, name, value, n)
"""
SCHEDULE_ROWS = f"""
INSERT INTO jobs_app_schedulestate (job_type, subject, name, origin, interval_seconds, cron, timezone, next_run_at,
       last_run_at, last_slot, paused, retired, catch_up, catch_up_max, spread_seconds, jitter_seconds, overlap,
       payload, overrides, failures, last_error, created_at, updated_at)
SELECT 'type-' || n %% {TYPES}, 'subject-' || n, '', 'source', 3600, '', 'UTC',
       now() + interval '1 second' * (n %% 3600), now(), now(), n %% 100 = 0, false, 'once', 10, 0, 0, 'allow',
       '{{}}', '{{}}', 0, '', now(), now()
  FROM generate_series(0, {SCHEDULES} - 1) AS n
"""
LIVE = f"""
INSERT INTO jobs_app_job (id, state, job_type, queue, subject, run_at, queued_at, attempts, max_attempts, payload, meta,
       worker_id, token, first_started_at, started_at, lease_expires_at)
SELECT {ID.format(at="now()", number="n + (1::bigint << 40)")}, CASE WHEN runs THEN 'running' ELSE 'queued' END,
       'type-' || n %% {TYPES}, 'queue-' || n %% {QUEUES}, 'subject-' || n %% {SUBJECTS},
       now() - interval '1 second' * (n - {WAITING} / 2), now() - interval '1 second' * n, runs::int, 3,
       jsonb_build_object('order', n), '{{}}', CASE WHEN runs THEN 'worker-' || n %% {WORKERS} ELSE '' END,
       CASE WHEN runs THEN gen_random_uuid() END, CASE WHEN runs THEN now() END, CASE WHEN runs THEN now() END,
       CASE WHEN runs THEN now() + interval '1 day' END
  FROM (SELECT n, n < {RUNNING} AS runs FROM generate_series(0, {WAITING + RUNNING} - 1) AS n) AS jobs
"""
WORKER_ROWS = f"""
INSERT INTO jobs_app_workerstate (id, kind, name, host, pid, version, queues, excluded, job_types, concurrency, busy,
       rss_bytes, draining, drain_requested, beat_seconds, started_at, seen_at)
SELECT 'worker-' || n, CASE n WHEN 0 THEN 'scheduler' ELSE 'worker' END, '', 'host-' || n, n, '1', '[]', '[]', '[]',
       20, 10, 50000000, false, false, 86400, now(), now()
  FROM generate_series(0, {WORKERS} - 1) AS n
"""
EVENT_ROWS = f"""
INSERT INTO jobs_app_controlevent (at, actor, action, target_kind, target, reason, moved, skipped, detail)
SELECT now() - interval '1 minute' * n, 'ada', 'retry', 'run', 'target-' || n, 'the service is back', 1, 0, '{{}}'
  FROM generate_series(0, {EVENTS} - 1) AS n
"""


def fill(size: int) -> None:
    """Everything, into the database in use."""
    for first in range(0, size, CHUNK):
        run(RUNS, {"size": size, "first": first, "last": min(first + CHUNK, size) - 1})
    for sql in (ATTEMPTS, ROLL_UPS, SCHEDULE_ROWS, LIVE, WORKER_ROWS, EVENT_ROWS):
        run(sql, {})
    run("VACUUM ANALYZE")
    run("CHECKPOINT")


def declare() -> None:
    """The job types that the runs are of, as code has them."""
    from jobs_app import job

    for number in range(TYPES):

        @job(name=f"type-{number}", queue=f"queue-{number % QUEUES}", subject="customer")
        def work(customer: str = "", order: int = 0) -> None:
            """Do something for a customer."""
