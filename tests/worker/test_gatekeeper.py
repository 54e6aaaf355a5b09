"""What a worker knows about gates, and when it looks at which queue."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.db import connection

from jobs_app import job
from jobs_app.models import Job, MaintenanceWindow, Pause, QueueState
from jobs_app.worker.gatekeeper import Gatekeeper
from jobs_app.worker.portions import Left
from tests.lifecycle.rows import done, stored, take

pytestmark = pytest.mark.django_db

TYPES = ["work", "other"]


def gates(**options: Any) -> Gatekeeper:
    keeper = Gatekeeper(options.get("serves", lambda queue: True))
    keeper.refresh(connection)
    return keeper


def limit(queue: str = "default", **rules: Any) -> None:
    QueueState.objects.create(name=queue, **rules)


def opened() -> int:
    return Job.objects.filter(hold="").count()


def test_every_queue_with_a_job_before_a_gate_is_visited_after_a_look() -> None:
    limit(max_running=5)
    stored(3)
    stored(2, queue="mail", policy="singleton", key="k", gate=2)
    keeper = gates()
    assert keeper.admit(connection, TYPES, 10) is False
    assert opened() == 4
    assert keeper.opened() == {("default", 0), ("mail", 0)}
    assert keeper.opened() == set()


def test_a_queue_is_visited_again_when_something_ends_there_or_comes() -> None:
    limit(max_running=1)
    stored(2)
    keeper = gates()
    keeper.admit(connection, TYPES, 10)
    [running] = take()
    keeper.admit(connection, TYPES, 10)
    assert take() == []
    assert done(running)
    keeper.admit(connection, TYPES, 10)  # nobody said so
    assert take() == []
    keeper.freed("default")
    keeper.admit(connection, TYPES, 10)
    assert len(take()) == 1


def test_a_word_about_a_queue_without_gates_is_no_visit(django_assert_num_queries: Any) -> None:
    keeper = gates()
    keeper.told("plain")
    with django_assert_num_queries(0):
        keeper.admit(connection, TYPES, 10)


def test_a_word_about_a_queue_that_may_have_gates_is_one() -> None:
    @job(name="work", queue="mail", policy="singleton")
    def work() -> None: ...

    keeper = gates()
    work.enqueue()
    keeper.told("mail")
    keeper.admit(connection, TYPES, 10)
    assert opened() == 1


def test_queues_that_are_paused_or_not_served_are_left_alone() -> None:
    stored(policy="singleton", key="k", gate=2)
    stored(policy="singleton", key="k", gate=2, queue="mail")
    Pause.objects.create(scope="queue", name="default")
    keeper = gates(serves=lambda queue: queue != "mail")
    assert keeper.admit(connection, TYPES, 10) is False
    assert opened() == 0
    Pause.objects.all().delete()
    keeper.refresh(connection)
    keeper.admit(connection, TYPES, 10)
    assert Job.objects.get(hold="").queue == "default"


def test_where_room_was_short_it_looks_again_as_soon_as_there_is_some() -> None:
    limit(max_running=100)
    stored(5)
    keeper = gates()
    for room, expected in ((0, 0), (2, 2), (0, 2)):
        assert keeper.admit(connection, TYPES, room) is False  # nothing to do before there is room
        assert opened() == expected
    take()
    keeper.admit(connection, TYPES, 10)
    assert opened() == 5


def test_what_a_process_may_not_run_is_not_opened_for_it() -> None:
    limit(max_running=100)
    stored(5)
    stored(5, job_type="other")
    gates().admit(connection, TYPES, 10, Left(of_type={"work": 1}, of_queue={}))
    assert sorted(Job.objects.filter(hold="").values_list("job_type", flat=True)) == ["other"] * 5 + ["work"]


def test_of_a_queue_only_so_many_are_opened_as_the_process_may_run() -> None:
    limit(max_running=100)
    stored(5)
    gates().admit(connection, TYPES, 10, Left(of_type={}, of_queue={"default": 2}))
    assert opened() == 2


def test_a_rate_says_when_to_look_next() -> None:
    limit(rate_count=1, rate_seconds=60)
    stored(3)
    keeper = gates()
    assert keeper.next_look() == float("inf")
    keeper.admit(connection, TYPES, 10)
    assert 50 < keeper.next_look() - time.monotonic() <= 60
    assert opened() == 1


def test_of_several_moments_the_first_is_looked_at() -> None:
    limit(rate_per_key_count=1, rate_per_key_seconds=30)
    stored(2, key="soon")
    keeper = gates()
    keeper.admit(connection, TYPES, 10)
    soon = keeper.next_look()
    QueueState.objects.update(rate_per_key_seconds=3600)
    stored(2, key="late")
    keeper.refresh(connection)
    keeper.admit(connection, TYPES, 10)
    assert keeper.next_look() == soon


def test_it_goes_on_at_once_while_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs_app.lifecycle.admit.ROWS_PER_STEP", 2)
    for number in range(7):
        stored(policy="singleton", key=f"k{number}", gate=2)
    keeper = gates()
    keeper.admit(connection, TYPES, 10)
    assert opened() == 7


def test_windows_are_read_with_the_rest_and_their_calendar_stays_while_they_do() -> None:
    keeper = gates()
    assert not keeper.calendar
    MaintenanceWindow.objects.create(name="backup", start="07:00", minutes=20)
    keeper.refresh(connection)
    calendar = keeper.calendar
    assert [window.name for window in calendar.windows] == ["backup"]
    keeper.refresh(connection)
    assert keeper.calendar is calendar
    MaintenanceWindow.objects.update(enabled=False)
    keeper.refresh(connection)
    assert not keeper.calendar


def test_a_key_is_handed_over_only_to_types_that_are_asked_for_and_need_nothing_else() -> None:
    @job(name="work", queue="mail", policy="singleton")
    def work() -> None: ...

    @job(name="off", queue="mail", policy="singleton")
    def off() -> None: ...

    @job(name="limited", queue="mail", policy="singleton", concurrency=3)
    def limited() -> None: ...

    keeper = gates()
    assert keeper.straight.kinds == []
    keeper.admit(connection, ["work", "limited"], 10)
    assert keeper.straight.kinds == ["mail work"]
    limit("mail", max_running=5)
    keeper.refresh(connection)
    assert keeper.straight.kinds == []
