"""The wake-up rides in the enqueue: heard after the commit, never after a rollback, and not once per job."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from jobs_app.lifecycle import control, wakeup
from jobs_app.lifecycle.enqueue import enqueue
from jobs_app.lifecycle.wakeup import CHANNEL, message, read_message, worth_sending
from tests.lifecycle.rows import new_job, stored


@pytest.fixture(autouse=True)
def nothing_said_before() -> None:
    wakeup._sent.__dict__.clear()


class Ear:
    """A connection that listens. What it heard ends with a mark that it sends itself, so silence can be told."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        raw.execute(f"LISTEN {CHANNEL}")

    def heard(self) -> list[str]:
        self._raw.execute(f"NOTIFY {CHANNEL}, 'mark'")
        heard: list[str] = []
        for notify in self._raw.notifies(timeout=30):
            if notify.payload == "mark":
                return heard
            heard.append(notify.payload)
        raise AssertionError("the mark did not come back")


@pytest.fixture
def ear(on_postgres: None, transactional_db: None) -> Iterator[Ear]:
    with connection.Database.connect(**connection.get_connection_params(), autocommit=True) as raw:
        yield Ear(raw)


def test_a_wake_up_is_heard_at_the_commit_and_not_before(ear: Ear) -> None:
    with transaction.atomic():
        stored(queue="mail", priority=-5)
        assert ear.heard() == []
    assert ear.heard() == ["-5:mail"]


def test_a_rollback_takes_the_wake_up_with_it(ear: Ear) -> None:
    with transaction.atomic():
        stored()
        transaction.set_rollback(True)
    assert ear.heard() == []


def test_a_statement_wakes_each_of_its_lanes_once(ear: Ear) -> None:
    enqueue([new_job(queue=queue, priority=priority) for queue in "ab" for priority in (0, 5) for _ in range(100)])
    assert sorted(ear.heard()) == ["0:a", "0:b", "5:a", "5:b"]


def test_work_that_is_due_later_wakes_nobody(ear: Ear) -> None:
    stored(delay=60)
    assert ear.heard() == []


def test_what_an_operator_lets_go_wakes_its_lane(ear: Ear) -> None:
    [run_id] = stored(delay=60, queue="mail", priority=5)
    control.retry(run_id, "ann")
    assert ear.heard() == ["5:mail"]
    stored(3, subject="shop-7")
    ear.heard()
    control.pause("subject", "shop-7", "ann")
    assert ear.heard() == ["*"]  # the rules changed
    control.resume("subject", "shop-7", "ann")
    assert ear.heard() == ["*", "0:default"]


def test_a_burst_is_told_once(ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("jobs_app.lifecycle.wakeup.time.monotonic", lambda: now)
    for _ in range(20):
        stored()
    stored(queue="other")
    assert ear.heard() == ["0:default", "0:other"]
    now += 0.006
    stored()
    assert ear.heard() == ["0:default"]


def test_another_thread_tells_for_itself() -> None:
    assert worth_sending("0:default")
    assert not worth_sending("0:default")
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(worth_sending("0:default")))
    thread.start()
    thread.join()
    assert answers == [True]


def test_what_was_said_is_not_remembered_without_end() -> None:
    for number in range(3000):
        worth_sending(f"0:queue-{number}")
    assert len(wakeup._sent.__dict__) <= 1001


@pytest.mark.parametrize(("queue", "priority"), [("default", 0), ("a:b", -100), ("", 7)])
def test_a_message_can_be_read_back(queue: str, priority: int) -> None:
    assert read_message(message(queue, priority)) == (queue, priority)


@pytest.mark.parametrize("text", ["", "mark", "x:default", ":default"])
def test_what_others_say_on_the_channel_is_no_message(text: str) -> None:
    assert read_message(text) is None
