"""One job on PostgreSQL is stored by a procedure: by the rules of now, where the connection looks, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DataError, IntegrityError, connection, transaction

from jobs_app.ids import uuid7
from jobs_app.lifecycle.enqueue import enqueue_one
from jobs_app.lifecycle.new_job import NewJob
from jobs_app.models import Job, Pause, QueueState
from tests.lifecycle.rows import new_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_postgres")]

both = pytest.mark.parametrize("given", [{}, {"subject": "shop-7"}], ids=["plain", "full"])


@both
def test_the_rules_of_each_enqueue_are_those_of_now(given: dict[str, Any]) -> None:
    """As often as a server needs to keep a plan, and then some."""
    for _ in range(10):
        before, paused, limited, after = (new_job(**given) for _ in range(4))
        enqueue_one(before)
        pause = Pause.objects.create(scope="job_type", name="work")
        enqueue_one(paused)
        pause.delete()
        limit = QueueState.objects.create(name="default", max_running=1)
        enqueue_one(limited)
        limit.delete()
        enqueue_one(after)
        holds = [Job.objects.get(pk=job.id).hold for job in (before, paused, limited, after)]
        assert holds == ["", "pause", "limit", ""]


@both
def test_the_tables_are_those_that_the_connection_finds_first(given: dict[str, Any]) -> None:
    def store_in(path: str) -> NewJob:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('search_path', %s, true)", [path])
            for _ in range(7):  # a plan that was kept must not be of the other tables
                job = new_job(**given)
                enqueue_one(job)
            cursor.execute("SELECT count(*) FROM jobs_app_job")
            assert cursor.fetchone() == (7,)
        return job

    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA elsewhere")
        for table in ("job", "queuestate", "pause"):
            cursor.execute(f"CREATE TABLE elsewhere.jobs_app_{table} (LIKE jobs_app_{table} INCLUDING ALL)")
    QueueState.objects.create(name="default", max_running=1)
    here = store_in("public")
    assert Job.objects.get(pk=here.id).hold == "limit"
    there = store_in("elsewhere, public")
    assert Job.objects.get(pk=there.id).hold == ""
    assert not Job.objects.filter(pk=here.id).exists()


@both
def test_a_job_that_is_there_already_is_refused_by_an_error_that_takes_back_nothing_else(given: dict[str, Any]) -> None:
    job = new_job(**given)
    enqueue_one(job)
    with pytest.raises(IntegrityError), transaction.atomic():
        enqueue_one(job)
    assert enqueue_one(new_job(**given)).created
    assert Job.objects.count() == 2


@pytest.mark.parametrize("given", [{"priority": 2**15}, {"priority": 2**40}, {"job_type": "x" * 121}, {"payload": "{"}])
def test_what_does_not_fit_is_an_error_about_the_data(given: dict[str, Any]) -> None:
    with pytest.raises(DataError), transaction.atomic():
        enqueue_one(new_job(**given))
    assert not Job.objects.exists()


OF_THE_RELEASE_BEFORE = """
INSERT INTO jobs_app_job (id, job_type, queue, priority, max_attempts, payload, meta, state, queued_at, run_at, gate,
                          hold)
VALUES (%s, 'work', 'default', 0, 5, '{}', '{}', 'queued', now(), now(), jobs_app_gate('default', 0),
        jobs_app_hold('default', 'work', '', 0, now()))
"""


def test_the_release_before_goes_on_storing_jobs_until_it_is_replaced() -> None:
    QueueState.objects.create(name="default", max_running=1)
    with connection.cursor() as cursor:
        cursor.execute(OF_THE_RELEASE_BEFORE, [uuid7()])
    assert Job.objects.values_list("gate", "hold").get() == (1, "limit")


def functions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT proname FROM pg_proc WHERE proname LIKE 'jobs\\_app\\_%%'")
        return {row[0] for row in cursor.fetchall()}


@pytest.fixture
def tables_again(on_postgres: None, transactional_db: None) -> Iterator[None]:
    """Whatever happens, the next test finds the tables."""
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.usefixtures("tables_again")
def test_the_functions_and_procedures_go_when_their_migrations_do() -> None:
    of_the_release_before = {"jobs_app_gate", "jobs_app_hold"}
    everything = {"jobs_app_enqueue", "jobs_app_enqueue_full", *of_the_release_before}
    assert functions() == everything
    call_command("migrate", "jobs_app", "0006", verbosity=0)
    assert functions() == of_the_release_before
    call_command("migrate", "jobs_app", "0005", verbosity=0)
    assert functions() == set()
    call_command("migrate", "jobs_app", verbosity=0)
    assert functions() == everything
    assert enqueue_one(new_job()).created
