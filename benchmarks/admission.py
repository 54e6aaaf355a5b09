"""What admission costs: a look at each job once, against a look at every key that is waited for at each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from benchmarks.databases import own_databases, run

BATCH = 500
MANY = 100_000
EVERY_KEY = """
WITH RECURSIVE each (value) AS (
  SELECT (SELECT key FROM jobs_app_job WHERE queue = 'q' AND state = 'queued' AND hold = 'key' ORDER BY key LIMIT 1)
  UNION ALL
  SELECT (SELECT key FROM jobs_app_job WHERE queue = 'q' AND state = 'queued' AND hold = 'key' AND key > each.value
           ORDER BY key LIMIT 1) FROM each WHERE each.value IS NOT NULL)
SELECT count(*) FROM each
"""


def main() -> None:
    with own_databases() as databases:
        databases.make("admission")
        databases.use("admission")
        _measure()


def _measure() -> None:
    from django.db import connection

    from jobs_app.ids import uuid7
    from jobs_app.lifecycle.admit import Admitted, Asking, admit
    from jobs_app.lifecycle.claim import Claim, ClaimedJob, claim
    from jobs_app.lifecycle.enqueue import enqueue
    from jobs_app.lifecycle.finish import finish
    from jobs_app.lifecycle.hand_over import Straight
    from jobs_app.lifecycle.lanes import Start
    from jobs_app.lifecycle.moves import Ended
    from jobs_app.lifecycle.new_job import NewJob
    from jobs_app.lifecycle.rules import Rules

    def store(keys: list[str | None], **columns: Any) -> None:
        usual = {"job_type": "work", "queue": "q", "priority": 0, "max_attempts": 5, "payload": "{}"} | columns
        kept = [{"key": key, "policy": "singleton", "gate": 2} if key else {} for key in keys]
        enqueue([NewJob(id=uuid7(), **usual, **each) for each in kept])

    def step() -> Admitted:
        return admit(connection, "q", Asking(job_types=["work"], rules=Rules()))

    def asked() -> Claim:
        return Claim(worker_id="w", token=uuid4(), job_types=["work"], limit=BATCH, lease=600, leases={})

    def take() -> list[ClaimedJob]:
        return claim(connection, asked(), [Start("q", 5), Start("q", 0)])

    def end(jobs: list[ClaimedJob], straight: Straight | None = None) -> None:
        ended = [Ended(id=job.id, token=job.token, state="succeeded", outcome="success") for job in jobs]
        finish(connection, ended, straight)

    def visit_all() -> None:
        while step().is_more:
            pass

    keys: list[str | None] = [f"k{number}" for number in range(BATCH)]
    store(["hot"] * MANY, priority=5)
    run("UPDATE jobs_app_job SET hold = 'new'")  # as if each had been enqueued by itself
    _tell(f"each of {MANY:,} jobs of one key, looked at", visit_all, each=MANY)
    take()
    store(keys)
    _tell(f"a step that opens {BATCH} jobs behind them", step)
    jobs = take()
    store(keys)
    _tell(f"a step that sends {BATCH} jobs to wait for their keys", step)
    _tell(f"the end of {BATCH} jobs that wake the next of their keys", lambda: end(jobs))
    step()
    jobs = take()
    store(keys)
    step()
    straight = Straight(["q work"], starting=["q work"], claim=asked())
    _tell(f"the end of {BATCH} jobs that start the next of their keys", lambda: end(jobs, straight))
    run("DELETE FROM jobs_app_job")
    store([None] * BATCH)
    jobs = take()
    _tell(f"the end of {BATCH} jobs without a key", lambda: end(jobs))
    store([f"k{number}" for number in range(MANY)])
    run("UPDATE jobs_app_job SET hold = 'key'")
    run("ANALYZE jobs_app_job")
    _tell(f"a look at each of {MANY:,} keys that are waited for", lambda: run(EVERY_KEY))


def _tell(what: str, act: Callable[[], object], *, each: int = 1) -> None:
    began = time.perf_counter()
    act()
    print(f"| {what} | {(time.perf_counter() - began) * 1000 / each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
