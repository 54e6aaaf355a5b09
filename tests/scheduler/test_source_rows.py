"""Sources are read while others write."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections

from jobs_app import due, job, subjects
from jobs_app.lifecycle.database import prepare
from jobs_app.models import Job, ScheduleState
from jobs_app.scheduler import due_items as due_items_module
from jobs_app.scheduler import subjects as subjects_module
from jobs_app.scheduler.due_items import enqueue_due
from jobs_app.scheduler.subjects import sync_subjects
from jobs_app.sources import Source, sources
from tests.scheduler.schedules import schedule

pytestmark = pytest.mark.django_db(transaction=True)

USERS = 7


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(connection)
    monkeypatch.setattr("jobs_app.sources.CHUNK", 2)
    for module in (subjects_module, due_items_module):
        monkeypatch.setattr(module, "ROWS_PER_STATEMENT", 2)
    monkeypatch.setattr("jobs_app.lifecycle.database.BUSY_FOR_SECONDS", 1)
    User.objects.bulk_create([User(username=f"user {n}") for n in range(USERS)])


def users() -> Any:
    return User.objects.values_list("pk", flat=True)


def source_of(job_type: str) -> Source:
    found = sources.of(job_type)
    assert found is not None
    return found


def another_process_writes() -> bool:
    def write() -> None:
        schedule("other", name=f"n{ScheduleState.objects.count()}")
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    writer.join()
    return True


def test_subjects_of_a_queryset_become_schedules_while_another_process_writes() -> None:
    @job(every=60)
    def greet() -> None: ...

    subjects("greet")(users)
    assert sync_subjects(connection, source_of("greet"), another_process_writes).created == USERS


def test_due_things_of_a_queryset_become_jobs_while_another_process_writes() -> None:
    @job(exclusive=True, subject="user")
    def greet(user: int) -> None: ...

    due("greet")(users)
    enqueue_due(connection, source_of("greet"), another_process_writes)
    assert Job.objects.count() == USERS
