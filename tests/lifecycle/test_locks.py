"""Many sessions on the same rows: nobody deadlocks, nobody sees a lock error."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.heartbeat import Held, Progress, extend, save_progress
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Job, JobRun
from tests.lifecycle.rows import ended, stored, take
from tests.lifecycle.sessions import sessions

pytestmark = pytest.mark.django_db(transaction=True)


def deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("on_postgres")
def test_a_mixed_batch_and_progress_take_their_locks_in_one_order() -> None:
    """The ends of a batch are written before its waits. Without a fixed order each of the two would hold what the
    other needs."""
    stored(2)
    low, high = sorted(take(2), key=lambda job: job.id)
    words = [Progress(job.id, job.token, "c", 1, 1, None, "") for job in (low, high)]
    with sessions(3) as [holder, finisher, heart]:
        holder.begin()
        holder.do(lambda: list(Job.objects.select_for_update().filter(pk=low.id)))
        report = finisher.start(finish, connection, [ended(high), ended(low, "queued")])
        finisher.until_blocked(report)
        saving = heart.start(save_progress, connection, words)
        heart.until_blocked(saving)
        holder.commit()
        assert report.result(timeout=60) == {low.id, high.id}
        saving.result(timeout=60)


def churn(seed: int, jobs: list[ClaimedJob], stop: threading.Event) -> int:
    """Everything that a worker writes, in any order, about jobs that others write about too."""
    choose = random.Random(seed)

    def some() -> list[ClaimedJob]:
        return choose.sample(jobs, 20)

    acts: list[Callable[[], Any]] = [
        lambda: extend(connection, [Held(job.id, job.token, 30) for job in some()]),
        lambda: save_progress(connection, [Progress(job.id, job.token, "c", 1, 1, None, "") for job in some()]),
        lambda: finish(connection, [ended(job, choose.choice(["succeeded", "queued"])) for job in some()[:3]]),
        lambda: recover(connection),
        lambda: take(5),
        lambda: stored(2),
    ]
    done = 0
    while not stop.is_set() and done < 60:
        choose.choice(acts)()
        done += 1
    return done


def test_everything_at_once_meets_no_deadlock_and_no_lock_error(is_postgres: bool) -> None:
    stored(200)
    jobs = take(200, lease=0.2)
    before = deadlocks() if is_postgres else 0
    stop = threading.Event()
    with sessions(6) as workers:
        rounds = [worker.start(churn, seed, jobs, stop) for seed, worker in enumerate(workers)]
        assert [one.result(timeout=120) for one in rounds] == [60] * 6
    if is_postgres:
        assert deadlocks() == before
    assert not set(Job.objects.values_list("id", flat=True)) & set(JobRun.objects.values_list("id", flat=True))
