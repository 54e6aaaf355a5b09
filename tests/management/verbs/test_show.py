"""`jobs show`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError

from jobs_app import current_job, job
from jobs_app.lifecycle import control
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.testing import run_jobs
from tests.by_hand import HandWorker
from tests.management.calling import jobs, jobs_json

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed() -> Any:
    @job(max_attempts=1)
    def charge(amount: int, card_token: str) -> None:
        current_job().log("asking the bank")
        raise ConnectionError("the bank did not answer")

    run = charge.enqueue(amount=7, card_token="tok_1")
    HandWorker().work()
    return run


def test_a_run_is_told_with_its_attempts(failed: Any) -> None:
    data, _ = jobs("show", failed.id)
    lines = data.splitlines()
    assert lines[0].split() == ["id", str(failed.id)]
    assert ["status", "failed"] in [line.split() for line in lines]
    assert ["error", "the", "bank", "did", "not", "answer"] in [line.split() for line in lines]
    assert '{"amount": 7, "card_token": "[hidden]"}' in data
    assert lines[-2].split() == ["ATTEMPT", "OUTCOME", "STARTED", "TOOK", "MESSAGE"]
    assert lines[-1].split()[:2] == ["1", "error"]
    assert "Traceback" not in data
    assert "tok_1" not in data


def test_log_and_traceback_are_told_when_asked_for(failed: Any) -> None:
    data, _ = jobs("show", failed.id, "--log")
    assert "log of attempt 1:" in data
    assert "asking the bank" in data
    assert "traceback of attempt 1:\nTraceback (most recent call last):" in data


def test_json_has_run_and_attempts(failed: Any) -> None:
    told = jobs_json("show", failed.id)
    assert (told["schema"], told["run"]["id"], told["run"]["status"]) == (1, str(failed.id), "failed")
    assert [(each["number"], each["outcome"]) for each in told["attempts"]] == [(1, "error")]
    assert "traceback" not in told["attempts"][0]
    assert "ConnectionError" in jobs_json("show", failed.id, "--log")["attempts"][0]["traceback"]


def test_a_run_that_was_never_tried_has_no_attempts() -> None:
    @job
    def later() -> None: ...

    run = later.options(delay="1h").enqueue()
    data, _ = jobs("show", run.id)
    assert "scheduled" in data
    assert "ATTEMPT" not in data


@pytest.mark.parametrize("run_id", ["nonsense", "00000000-0000-0000-0000-000000000007"])
def test_no_such_run_is_an_error(run_id: str) -> None:
    with pytest.raises(CommandError, match=r"is not the id of a run|no run has the id") as caught:
        jobs("show", run_id)
    assert caught.value.returncode == 1


def test_why_a_run_waits_is_told_as_everywhere() -> None:
    @job(queue="mail")
    def send() -> None: ...

    run = send.enqueue()
    control.pause("queue", "mail", "ann", "the bank\nis down")
    data, _ = jobs("show", run.id)
    assert r"Waits because its queue mail is paused by ann: the bank\nis down" in data.splitlines()
    first, *others = jobs_json("show", run.id)["waiting_because"]
    assert (first["kind"], first["about"], first["until"]) == ("paused", {"kind": "queue", "name": "mail"}, None)
    assert [each["kind"] for each in others] == ["unserved"]


def test_what_does_not_wait_gives_no_reason(failed: Any) -> None:
    assert jobs_json("show", failed.id)["waiting_because"] == []
    assert "Waits" not in jobs("show", failed.id)[0]


def test_the_maintenance_window_that_defers_a_run_is_told_in_universal_time(settings: Any) -> None:
    @job
    def send() -> None: ...

    settings.JOBS = {"MAINTENANCE_WINDOWS": "07:00"}
    settings.TIME_ZONE = "Asia/Tokyo"
    told = "Waits because the maintenance window 07:00 UTC lets nothing of it start until 2026-01-01 07:20:00 UTC"
    with frozen_clock(datetime(2026, 1, 1, 7, 5, tzinfo=UTC)):
        run = send.enqueue()
        assert told in jobs("show", run.id)[0].splitlines()  # no worker has met it
        run_jobs()
        assert told in jobs("show", run.id)[0].splitlines()
        found = jobs_json("show", run.id)
        assert found["waiting_because"][0]["until"] == "2026-01-01T07:20:00+00:00"
        assert found["attempts"][0]["message"].startswith("deferred to 2026-01-01T07:20:00+00:00 by the maintenance")
    with frozen_clock(datetime(2026, 1, 1, 7, 20, tzinfo=UTC)):
        assert "window" not in jobs("show", run.id)[0].split("ATTEMPT")[0]
