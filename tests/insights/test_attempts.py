"""The attempts of one run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.insights import attempts
from jobs_app.models import Job, JobAttempt

RUN = UUID(int=7)


pytestmark = pytest.mark.django_db


def tried(run_id: UUID, number: int, **columns: object) -> None:
    given = {"token": uuid4(), "finished_at": datetime(2026, 1, 1, tzinfo=UTC), "outcome": "error", "success": False}
    JobAttempt.objects.create(job_id=run_id, number=number, **(given | columns))


def test_the_last_attempts_of_a_run_oldest_first() -> None:
    for run_id, number in ((RUN, 2), (RUN, 1), (RUN, 3), (UUID(int=8), 1)):
        tried(run_id, number)
    assert [each.number for each in attempts.of_run(RUN)] == [1, 2, 3]
    assert [each.number for each in attempts.of_run(RUN, limit=2)] == [2, 3]
    assert attempts.of_run(UUID(int=9)) == []


def test_a_run_and_all_that_was_tried_are_one_statement_and_one_row(django_assert_num_queries: Any) -> None:
    @job
    def work() -> None: ...

    run_id = work.enqueue().id
    assert (attempts.run_with_attempts(run_id)[1], attempts.run_with_attempts(RUN)) == ([], (None, []))
    texts = {"worker_id": "w", "error_class": "ValueError", "message": 'says "no"\n', "traceback": "where ü"}
    for number in (2, 1, 60):
        tried(run_id, number, **texts)
    Job.objects.filter(pk=run_id).update(attempts=60)
    with django_assert_num_queries(1):
        run, found = attempts.run_with_attempts(run_id)
    assert run is not None
    assert (run.pk, [each.number for each in found]) == (run_id, [1, 2, 60])
    assert found[-1] == (60, "w", "error", "ValueError", 'says "no"\n', "where ü")
    assert found[0].traceback == ""


def test_they_are_read_page_by_page_newest_first() -> None:
    for number in range(1, 6):
        tried(RUN, number)
    tried(UUID(int=8), 9)
    pages, before = [], None
    while not pages or before is not None:
        page = attempts.page(connection, RUN, before=before, limit=2)
        pages.append([each.number for each in page.attempts])
        before = page.older
    assert pages == [[5, 4], [3, 2], [1]]
    assert attempts.page(connection, RUN, before=3, limit=2).older is None  # just as many as a page has


def test_logs_are_read_only_where_they_are_asked_for() -> None:
    tried(RUN, 1, log_excerpt="secret", traceback="more")
    [without] = attempts.page(connection, RUN, with_logs=False).attempts
    assert not {"log_excerpt", "traceback"} & without.__dict__.keys()
    [attempt] = attempts.page(connection, RUN).attempts
    assert (attempt.log_excerpt, attempt.traceback) == ("secret", "more")


def test_one_is_found_by_its_number() -> None:
    tried(RUN, 1)
    found = attempts.get(connection, RUN, 1)
    assert found is not None
    assert found.number == 1
    assert attempts.get(connection, RUN, 2) is None
