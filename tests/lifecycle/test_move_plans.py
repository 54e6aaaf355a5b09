"""How PostgreSQL reads for what workers report: the rows of a batch, also where it believes the queue to be empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from jobs_app.lifecycle.claim import ClaimedJob
from jobs_app.lifecycle.database import pinned_transaction
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.heartbeat import Progress, save_progress
from jobs_app.lifecycle.moves import WAITING, Ended, remove
from jobs_app.lifecycle.regate import Misplaced, put_back
from jobs_app.models import Job
from tests.lifecycle.plans import plans_of
from tests.lifecycle.rows import ended, take
from tests.lifecycle.test_admit_plans import SIZES, fill, statistics

__all__ = ["statistics"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

BATCH = 100
Jobs = list[ClaimedJob]


def report(jobs: Jobs, state: str, policy: str = "standard") -> None:
    finish(connection, [ended(job, state, policy=policy) for job in jobs])


def report_both(jobs: Jobs) -> None:
    states = ["succeeded", "queued"] * (len(jobs) // 2)
    finish(connection, [ended(job, state) for job, state in zip(jobs, states, strict=True)])


ACTS: dict[str, Callable[[Jobs], Any]] = {
    "success": lambda jobs: report(jobs, "succeeded"),
    "retry": lambda jobs: report(jobs, "queued"),
    "retry under a short key": lambda jobs: report(jobs, "queued", "short"),
    "both": report_both,
    "progress": lambda jobs: save_progress(
        connection, [Progress(job.id, job.token, "page", 1, 1, None, "") for job in jobs]
    ),
    "back to a gate": lambda jobs: put_back(connection, [Misplaced(job.id, job.token, 2) for job in jobs]),
}


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("name", ACTS)
def test_a_batch_reads_its_own_rows(name: str, count: int, statistics: Any) -> None:
    policy = "'short'" if "short" in name else "'standard'"
    fill(count, gate=0, policy=policy, key="'key-' || n")
    statistics()
    jobs = take(BATCH)
    plans = plans_of(lambda: ACTS[name](jobs))
    assert plans.disorder() == []
    assert plans.rows <= 5 * BATCH


@pytest.mark.parametrize("count", SIZES)
def test_a_cancel_reads_its_own_rows_and_who_is_next(count: int, statistics: Any) -> None:
    fill(count, key="'key-' || n %% 10", hold="'key'")
    statistics()
    waiting = list(Job.objects.values_list("pk", flat=True)[:BATCH])

    def cancel() -> None:
        with pinned_transaction(connection):
            gone = [Ended(id=run_id, token=None, state="cancelled", outcome="") for run_id in waiting]
            remove(connection, gone, WAITING)

    plans = plans_of(cancel)
    assert plans.disorder() == []
    assert plans.rows <= 2 * BATCH
