"""A webhook that wants its failures grouped: one signed request for all of them, sent as any other delivery is."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jobs_app.lifecycle.deliveries import QUEUE, WEBHOOK_OF_FAILURES
from jobs_app.models import Job, JobRun
from jobs_app.testing import run_jobs
from tests.lifecycle.failing import fail, messages, tell
from tests.lifecycle.rows import T, at
from tests.webhooks.receiver import SECRET, Receiver, status

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def ops(settings: Any, chores: Any, receiver: Receiver) -> None:
    settings.JOBS = receiver.settings(grouped=True)


def test_a_thousand_failures_are_one_request(receiver: Receiver) -> None:
    with at(0):
        fail(998, "send_invoice")
        fail(2, "sync", error="secret=4711")
    tell(10)
    [delivery] = run_jobs(queues=QUEUE)
    [got] = receiver.got
    assert (delivery.status, delivery.result, delivery.job_type) == ("succeeded", {"status": 200}, WEBHOOK_OF_FAILURES)
    assert got.is_genuine()
    told = got.told
    assert told.pop("sent_at").endswith("+00:00")
    runs = [JobRun.objects.get(pk=group.pop("run")).job_type for group in told["groups"]]
    assert runs == ["send_invoice", "sync"]
    same = {"queue": "default", "error_class": "ValueError", "first_at": T.isoformat(), "last_at": T.isoformat()}
    assert told == {
        "event": "runs.failed",
        "delivery": str(delivery.id),
        "webhook": "ops",
        "count": 1000,
        "is_more": False,
        "groups": [
            {"job_type": "send_invoice", "count": 998, "error": "no such card", **same},
            {"job_type": "sync", "count": 2, "error": "secret=[hidden]", **same},
        ],
        "other_groups": 0,
    }


def test_what_is_not_taken_is_sent_again_as_it_was(receiver: Receiver) -> None:
    receiver.answers = [status(503), status(200)]
    fail(3)
    tell(0)
    assert run_jobs(queues=QUEUE)[0].status == "retrying"
    fail(2)
    assert run_jobs(queues=QUEUE, at="1h")[0].status == "succeeded"
    assert [got.told["count"] for got in receiver.got] == [3, 3]
    assert messages(WEBHOOK_OF_FAILURES) == []
    tell(300)
    run_jobs(queues=QUEUE)
    assert receiver.got[2].told["count"] == 2


def test_what_will_never_be_taken_fails_and_is_not_told_again(receiver: Receiver) -> None:
    receiver.answers = [status(410)]
    fail()
    tell(0)
    assert run_jobs(queues=QUEUE)[0].status == "failed"
    assert (tell(300), Job.objects.count(), len(receiver.got)) == (0, 0, 1)


def test_it_is_logged_without_the_secret(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    fail(7)
    tell(0)
    with caplog.at_level(logging.INFO, "jobs_app.webhooks"):
        [delivery] = run_jobs(queues=QUEUE)
    [record] = [record for record in caplog.records if record.name == "jobs_app.webhooks"]
    assert record.getMessage() == f"webhook=ops failures=7 delivery={delivery.id}: answered 200"
    assert SECRET not in caplog.text
