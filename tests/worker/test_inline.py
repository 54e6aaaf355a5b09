"""The worker without threads: one job, from the claim to the stored end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from jobs_app import current_job, job
from jobs_app.models import JobAttempt
from jobs_app.worker.inline import InlineWorker

pytestmark = pytest.mark.django_db


@pytest.fixture
def ping() -> Any:
    @job
    def ping() -> str:
        return "pong"

    return ping


def test_nothing_is_due() -> None:
    worker = InlineWorker()

    assert worker.claim() is None
    assert worker.due() == []


def test_one_job_from_the_claim_to_its_end(ping: Any) -> None:
    worker = InlineWorker()
    first, second = ping.enqueue(), ping.enqueue()

    assert worker.due() == [(first.id, "ping"), (second.id, "ping")]
    claimed = worker.claim()
    assert claimed is not None
    assert (claimed.id, worker.due()) == (first.id, [(second.id, "ping")])
    done = worker.work(claimed)
    assert done.ended is not None
    assert (done.ended.state, done.error, first.refresh().result) == ("succeeded", None, "pong")


def test_one_job_by_its_id(ping: Any) -> None:
    worker = InlineWorker()
    first, second = ping.enqueue(), ping.enqueue()
    later = ping.options(delay=60).enqueue()

    taken = worker.take(second.id)
    assert taken is not None
    assert taken.id == second.id
    assert worker.take(second.id) is None
    assert worker.take(later.id) is None
    assert InlineWorker(job_types={"other"}).take(first.id) is None
    assert InlineWorker(serves=lambda queue: queue == "other").take(first.id) is None


def test_a_lost_job_is_not_recorded(ping: Any) -> None:
    worker = InlineWorker()
    ping.enqueue()
    claimed = worker.claim()
    assert claimed is not None

    assert worker.work(claimed._replace(token=claimed.id)).ended is None
    assert not JobAttempt.objects.exists()


def test_threads_of_a_handler_know_their_job() -> None:
    found: list[str] = []

    @job
    def spread() -> None:
        thread = threading.Thread(target=lambda: found.append(current_job().job_type))
        thread.start()
        thread.join()

    spread.enqueue()
    worker = InlineWorker()
    claimed = worker.claim()
    assert claimed is not None
    worker.work(claimed)

    assert found == ["spread"]


def test_the_worker_that_ran_it_can_be_told_by_its_id(ping: Any) -> None:
    run = ping.enqueue()
    worker = InlineWorker()
    claimed = worker.claim()
    assert claimed is not None
    worker.work(claimed)

    assert JobAttempt.objects.get(job_id=run.id).worker_id == run.refresh().worker_id != ""
