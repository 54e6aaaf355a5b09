"""Looking at what is enqueued: what fits, and what a failed assertion says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from django.db import transaction

from jobs_app import job
from jobs_app.errors import UnknownJobType
from jobs_app.models import Job
from jobs_app.testing import assert_enqueued, assert_not_enqueued, enqueued_jobs, freeze_clock, run_jobs

MOMENT = datetime(2030, 5, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def report() -> Any:
    @job(queue="mail", subject="account")
    def report(account: str, day: date | None = None, pages: int = 1) -> None: ...

    return report


@pytest.fixture
def ping() -> Any:
    @job
    def ping(number: int = 0) -> None: ...

    return ping


def message_of(failing: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        failing()
    return str(caught.value)


def test_what_waits_is_listed_in_the_order_of_its_enqueue(report: Any, ping: Any) -> None:
    runs = [ping.options(priority=-9).enqueue(), report.enqueue(account="a"), ping.options(delay=60).enqueue()]

    assert [run.id for run in enqueued_jobs()] == [run.id for run in runs]
    assert [run.id for run in enqueued_jobs(ping)] == [runs[0].id, runs[2].id]
    assert [run.status for run in enqueued_jobs("ping")] == ["queued", "scheduled"]


def test_what_has_ended_or_runs_does_not_wait(ping: Any) -> None:
    ping.enqueue()
    run_jobs()
    running = ping.enqueue()
    Job.objects.filter(pk=running.id).update(state="running", token=running.id, lease_expires_at=MOMENT)

    assert enqueued_jobs() == []
    assert_not_enqueued()


@pytest.mark.parametrize(
    "criteria",
    [
        {"payload": {"account": "main"}},
        {"payload": {"day": date(2026, 1, 2)}},
        {"payload": {"day": "2026-01-02", "account": ANY}},
        {"payload": {"account": lambda name: name.startswith("m")}},
        {"payload": lambda payload: len(payload) == 2},
        {"payload": {}},
        {"queue": "mail"},
        {"queue": lambda queue: "a" in queue},
        {"subject": "main"},
        {"priority": 3},
        {"actor": "ada"},
        {"meta": {"cost": 2}},
        {"meta": {"why": lambda why: "not" in why}},
        {"delay": "5m"},
        {"run_at": MOMENT + timedelta(minutes=5)},
        {"run_at": MOMENT + timedelta(minutes=6), "within": "1m"},
        {"run_at": lambda moment: moment > MOMENT},
        {"matching": lambda run: run.payload["account"] == "main" and run.status == "scheduled"},
        {"payload": {"account": "main"}, "queue": "mail", "subject": "main", "delay": 300},
    ],
)
def test_a_job_that_fits_is_found(report: Any, criteria: dict[str, Any]) -> None:
    with freeze_clock(MOMENT):
        options = report.options(priority=3, delay="5m", actor="ada", meta={"cost": 2, "why": "why not"})
        run = options.enqueue(account="main", day=date(2026, 1, 2))

        assert [found.id for found in assert_enqueued(report, **criteria)] == [run.id]
        assert [found.id for found in assert_enqueued(**criteria, count=1)] == [run.id]
        with pytest.raises(AssertionError):
            assert_not_enqueued("report", **criteria)


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ({"payload": {"account": "other"}}, "payload['account'] is 'main', not 'other'"),
        ({"payload": {"day": date(2026, 1, 3)}}, "payload['day'] is '2026-01-02', not datetime.date(2026, 1, 3)"),
        ({"payload": {"acount": "main"}}, "payload has no 'acount'"),
        ({"payload": lambda payload: False}, "and <lambda> says no"),
        ({"meta": {"cost": 3}}, "meta['cost'] is 2, not 3"),
        ({"queue": "default"}, "queue is 'mail', not 'default'"),
        ({"key": "k"}, "key is "),
        ({"delay": "6m"}, "its delay is 0:05:00, not 6m"),
        ({"run_at": MOMENT}, "0:05:00 apart"),
        ({"run_at": lambda moment: False}, "run_at is "),
        ({"matching": lambda run: False}, "matching=<lambda> says no"),
    ],
)
def test_a_job_that_does_not_fit_is_shown_with_what_differs(report: Any, criteria: dict[str, Any], said: str) -> None:
    with freeze_clock(MOMENT):
        report.options(delay="5m", meta={"cost": 2}).enqueue(account="main", day=date(2026, 1, 2))

        assert_not_enqueued(report, **criteria)
        message = message_of(lambda: assert_enqueued(report, **criteria))
    assert message.startswith("No job 'report' with ")
    assert said in message


def test_the_nearest_is_shown_first(report: Any, ping: Any) -> None:
    ping.enqueue_many([{"number": number} for number in range(12)])
    report.options(queue="slow").enqueue(account="b")
    report.enqueue(account="b")

    message = message_of(lambda: assert_enqueued(report, payload={"account": "a"}, queue="mail"))

    assert message.splitlines()[:7] == [
        "No job 'report' with payload={'account': 'a'}, queue='mail' is enqueued.",
        "Enqueued instead, nearest first:",
        "  report queue='mail' subject='b' payload={'account': 'b'}",
        "    payload['account'] is 'b', not 'a'",
        "  report queue='slow' subject='b' payload={'account': 'b'}",
        "    payload['account'] is 'b', not 'a'",
        "    queue is 'slow', not 'mail'",
    ]
    assert message.splitlines()[-1] == "  ... and 4 more"


def test_counts_are_exact(ping: Any) -> None:
    ping.enqueue_many([{"number": 1}, {"number": 1}, {"number": 2}])

    assert len(assert_enqueued(ping, count=3)) == 3
    assert assert_enqueued(ping, payload={"number": 7}, count=0) == []
    message = message_of(lambda: assert_enqueued(ping, payload={"number": 1}, count=1))
    assert message.splitlines() == [
        "2 enqueued, not 1: job 'ping' with payload={'number': 1}.",
        "  ping queue='default' payload={'number': 1}",
        "  ping queue='default' payload={'number': 1}",
        "Enqueued instead, nearest first:",
        "  ping queue='default' payload={'number': 2}",
        "    payload['number'] is 2, not 1",
    ]


def test_what_should_not_be_there_is_shown(ping: Any) -> None:
    ping.options(delay="1h").enqueue(number=1)

    message = message_of(lambda: assert_not_enqueued(ping))
    assert message.startswith(
        "1 enqueued, not 0: job 'ping'.\n  ping queue='default' payload={'number': 1} scheduled, due"
    )
    assert message_of(assert_not_enqueued).startswith("1 enqueued, not 0: job.")


def test_an_empty_queue_and_what_has_ended_are_said(ping: Any) -> None:
    assert message_of(lambda: assert_enqueued(ping)) == "No job 'ping' is enqueued.\nNothing else is enqueued."
    ping.enqueue()
    run_jobs()
    assert message_of(lambda: assert_enqueued(ping)).endswith("Runs of ping that have ended already: 1 succeeded.")


def test_callbacks_that_have_not_run_are_said(ping: Any) -> None:
    transaction.on_commit(ping.enqueue)

    message = message_of(lambda: assert_enqueued(ping))
    assert "has 1 on_commit callbacks that have not run" in message
    assert "captureOnCommitCallbacks(execute=True)" in message


def test_a_name_that_nothing_has_is_an_error_and_no_answer(ping: Any) -> None:
    with pytest.raises(UnknownJobType, match="Did you mean 'ping'"):
        assert_not_enqueued("pnig")
    with pytest.raises(TypeError, match="Did you mean 'payload'"):
        assert_not_enqueued(ping, payloads={"number": 1})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="name a job by"):
        assert_enqueued(test_counts_are_exact)  # type: ignore[arg-type]
