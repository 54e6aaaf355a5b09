"""The least that a worker on our tables can do, by psycopg alone: claim, call a handler that notes its start, finish.

Three threads with a connection each, so that the database always has something to do, as in our worker. Nothing that
makes a queue safe or useful is here: no leases kept up, no retries, no limits, no errors, no signals.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from typing import Any
from uuid import UUID, uuid4

import psycopg

from benchmarks.peers import program

BATCH = int(os.environ.get("BENCH_BATCH", "200"))
AHEAD = 2  # batches between two threads
EMPTY_SECONDS = 0.01
# The plans that suit a queue, whatever the statistics say.
PLANS = " ".join(f"-c enable_{way}=off" for way in ("bitmapscan", "sort", "seqscan", "hashjoin", "mergejoin"))
BEGIN = ("-infinity", UUID(int=0))
CLAIM = """
UPDATE jobs_app_job
   SET state = 'running', worker_id = %(worker)s, token = %(token)s, attempts = attempts + 1, started_at = now(),
       first_started_at = coalesce(first_started_at, now()), lease_expires_at = now() + interval '30 s'
 WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM jobs_app_job
        WHERE state = 'queued' AND hold = '' AND queue = 'default' AND priority = 0 AND run_at <= now()
          AND (run_at, id) >= (%(run_at)s::timestamptz, %(id)s)
        ORDER BY run_at, id LIMIT %(batch)s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING run_at, id, payload
"""
SAME_IN_RUN = """
id, job_type, queue, subject, priority, run_at, queued_at, expires_at, slot_at, schedule, policy, key, attempts,
free_attempts, max_attempts, payload, meta, actor, parent, timeout_seconds, cursor, progress_count, result_count,
target_count, progress_message, last_progress_at, worker_id, first_started_at, started_at
"""
FINISH = f"""
WITH gone AS (
  DELETE FROM jobs_app_job WHERE id = ANY (%(ids)s) AND token = %(token)s RETURNING *),
tried AS (
  INSERT INTO jobs_app_jobattempt (job_id, number, token, worker_id, started_at, finished_at, outcome, success)
  SELECT id, attempts, token, worker_id, started_at, now(), 'success', true FROM gone)
INSERT INTO jobs_app_jobrun ({SAME_IN_RUN}, state, outcome, done_reason, error, finished_at)
SELECT {SAME_IN_RUN}, 'succeeded', 'success', '', '', now() FROM gone
"""

Batch = tuple[UUID, list[tuple[Any, UUID, dict[str, int]]]]  # the token, and the rows of CLAIM


def worker() -> None:
    claimed: queue.Queue[Batch] = queue.Queue(AHEAD)
    done: queue.Queue[Batch] = queue.Queue(AHEAD)
    for act, between in ((_claim, [claimed]), (_execute, [claimed, done]), (_finish, [done])):
        threading.Thread(target=_or_end_all, args=[act, *between], daemon=True).start()
    threading.Event().wait()


def _claim(claimed: queue.Queue[Batch]) -> None:
    worker_id = f"limit-{os.getpid()}-{uuid4()}"
    after = BEGIN  # rows before it are gone, and their index entries would be read again at each claim
    with _connect() as connection:
        while True:
            token = uuid4()
            asked = {"worker": worker_id, "token": token, "run_at": after[0], "id": after[1], "batch": BATCH}
            rows = connection.execute(CLAIM, asked, prepare=True).fetchall()
            if rows:
                after = max(rows)[:2]
                claimed.put((token, rows))
            else:
                time.sleep(EMPTY_SECONDS)


def _execute(claimed: queue.Queue[Batch], done: queue.Queue[Batch]) -> None:
    while True:
        token, rows = claimed.get()
        for _, _, payload in rows:
            program.record(payload["n"])
        done.put((token, rows))


def _finish(done: queue.Queue[Batch]) -> None:
    with _connect() as connection:
        while True:
            token, rows = done.get()
            connection.execute(FINISH, {"ids": [row[1] for row in rows], "token": token}, prepare=True)


def _connect() -> psycopg.Connection[Any]:
    return psycopg.connect(program.URL, autocommit=True, options=PLANS)


def _or_end_all(act: Any, *between: Any) -> None:
    try:
        act(*between)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)  # a thread alone would end quietly, and the harness would wait for its jobs


if __name__ == "__main__":
    if sys.argv[1:] != ["worker"]:
        sys.exit("only a worker: it works on what jobs_app has enqueued")
    worker()
