"""Things that are due become one job each."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from jobs_app import due, job
from jobs_app.errors import DefinitionInvalid
from jobs_app.lifecycle.database import frozen_clock, jobs_connection
from jobs_app.models import Job
from jobs_app.scheduler.due_items import enqueue_due
from jobs_app.scheduler.process import tick_once
from jobs_app.scheduler.reading import read_source
from jobs_app.sources import Source, sources
from tests.by_hand import HandWorker
from tests.scheduler.schedules import NOON, after

items: list[Any] = []


@pytest.fixture(autouse=True)
def charge() -> Iterator[None]:
    items[:] = []

    @job(name="charge", preset="payments", subject="subscription")
    def charge(subscription: str) -> None: ...

    @due("charge")
    def due_subscriptions(now: datetime) -> Any:
        return [each["subject"] for each in items if each["status"] == "ACTIVE" and each["due"] <= now]

    with frozen_clock(NOON):
        yield


def subscription(subject: str, *, status: str = "ACTIVE", seconds: float = -60) -> dict[str, Any]:
    return {"subject": subject, "status": status, "due": after(seconds)}


def the_source() -> Source:
    source = sources.of("charge")
    assert source is not None
    return source


@pytest.mark.django_db
@pytest.mark.spec("S4.2", "S4.3", "S4.4", "A4.1")
def test_five_due_items_make_five_jobs_and_a_second_run_makes_none(caplog: pytest.LogCaptureFixture) -> None:
    items[:] = [subscription(f"sub-{n}") for n in range(5)]
    items[5:] = [subscription("cancelled", status="CANCELLED"), subscription("later", seconds=60)]
    with caplog.at_level(logging.INFO, "jobs_app.scheduler"):
        assert tick_once() == 0
    jobs = {live.subject: live for live in Job.objects.all()}
    assert set(jobs) == {f"sub-{n}" for n in range(5)}
    assert all((live.state, live.run_at, live.attempts) == ("queued", NOON, 0) for live in jobs.values())
    assert jobs["sub-0"].payload == {"subscription": "sub-0"}
    assert [record.getMessage() for record in caplog.records] == [
        "⏰ Starting scheduler...",
        "📊 5 items found",
        "✅ 5 jobs scheduled successfully",
        *(f"📦 Job created for item sub-{n} ({jobs[f'sub-{n}'].id})" for n in range(5)),
        "🎉 Scheduler executed successfully",
    ]
    caplog.clear()
    with caplog.at_level(logging.INFO, "jobs_app.scheduler"):
        assert tick_once() == 0
    assert "✅ 0 jobs scheduled successfully" in caplog.text
    assert Job.objects.count() == 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.spec("A4.1", "S4.4", "S4.R1")
def test_two_schedulers_at_once_make_each_job_once() -> None:
    items[:] = [subscription(f"sub-{n}") for n in range(5)]

    def run(_: int) -> int:
        try:
            return len(enqueue_due(jobs_connection(), the_source()).made)
        finally:
            jobs_connection().close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(run, range(4))) == 5
    assert Job.objects.count() == 5


@pytest.mark.django_db
def test_an_item_whose_job_ends_while_the_source_is_read_gets_no_second_one() -> None:
    """It was due when it was read, and its job has moved its date since."""
    items[:] = [subscription("sub-1")]
    enqueue_due(connection, the_source())

    def read_then_paid() -> Iterator[str]:
        assert HandWorker().work() is not None
        yield "sub-1"

    slow = Source(name="slow", function=read_then_paid, job_types=("charge",), kind="due")
    assert enqueue_due(connection, slow).made == []
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_an_item_that_is_due_again_gets_its_next_job() -> None:
    items[:] = [subscription("sub-1")]
    for _ in range(2):
        assert len(enqueue_due(connection, the_source()).made) == 1
        assert HandWorker().work() is not None


@pytest.mark.django_db
def test_model_instances_are_told_by_their_own_name(caplog: pytest.LogCaptureFixture) -> None:
    @job(name="greet", exclusive=True, subject="user")
    def greet(user: int) -> None: ...

    @due("greet")
    def new_users() -> Any:
        return User.objects.order_by("pk")

    user = User.objects.create(username="ann")
    with caplog.at_level(logging.INFO, "jobs_app.scheduler"):
        tick_once()
    assert Job.objects.get().payload == {"user": user.pk}
    assert "📊 1 users found" in caplog.text
    assert f"📦 Job created for user {user.pk}" in caplog.text


@pytest.mark.django_db
def test_items_that_cannot_be_used_cost_no_other(caplog: pytest.LogCaptureFixture) -> None:
    items[:] = [subscription("sub-1"), {"subject": None, "status": "ACTIVE", "due": NOON}]
    with caplog.at_level(logging.INFO, "jobs_app.scheduler"):
        assert tick_once() == 4
    assert Job.objects.get().subject == "sub-1"
    assert "None is no subject" in caplog.text


@pytest.mark.django_db
def test_a_job_type_that_lets_a_second_one_in_is_refused() -> None:
    @job(name="loose", subject="item")
    def loose(item: str) -> None: ...

    source = Source(name="loose", function=lambda: ["a"], job_types=("loose",), kind="due")
    with pytest.raises(DefinitionInvalid, match=r"'loose' .* must be exclusive=True"):
        enqueue_due(connection, source)
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_a_source_in_another_schedulers_hands_is_left_to_it() -> None:
    from jobs_app.lifecycle.turns import take_turn

    items[:] = [subscription("sub-1")]
    assert take_turn(connection, f"in hand: {the_source().name}", seconds=60)
    assert read_source(connection, the_source(), lambda: True) is None
    with frozen_clock(after(61)):
        assert read_source(connection, the_source(), lambda: True) is not None
