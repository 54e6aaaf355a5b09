"""A run as the command line tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs_app import job
from jobs_app.insights import attempts, runs
from jobs_app.insights.run_documents import attempt_data, run_data
from jobs_app.lifecycle.database import frozen_clock
from jobs_app.management.runs import attempt_rows, run_fields
from jobs_app.models import Job, JobAttempt
from tests.by_hand import HandWorker

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def login() -> Any:
    @job(preset="transient", meta={"trace": "t-1", "auth": "x"})
    def login(user: str = "ada", password: str = "") -> dict[str, str]:
        if not password:
            raise ConnectionError("no answer")
        return {"user": user, "session_token": "s3cret"}

    return login


def fields_of(run: Any) -> dict[str, object]:
    return run_fields(run_data(runs.get(run.id)))


def test_secrets_in_payload_meta_and_result_are_hidden(login: Any) -> None:
    run = login.enqueue(user="ada", password="hunter2")
    HandWorker().work()
    told = run_data(runs.get(run.id))
    assert told["payload"] == {"user": "ada", "password": "[hidden]"}
    assert told["meta"] == {"trace": "t-1", "auth": "[hidden]"}
    assert told["result"] == {"user": "ada", "session_token": "[hidden]"}
    assert "token" not in told, "what proves a claim is a secret"


@pytest.mark.spec("S2.12")
def test_people_read_what_there_is_to_say(login: Any) -> None:
    with frozen_clock(NOON):
        run = login.options(subject="tenant-1", priority=5).enqueue(password="x")
    with frozen_clock(NOON + timedelta(seconds=90)):
        HandWorker().work()
    told = fields_of(run)
    assert (told["status"], told["attempts"], told["waited"]) == ("succeeded (COMPLETED)", "1 of 4", "1m 30s")
    assert (told["subject"], told["priority"]) == ("tenant-1", 5)
    assert not {"key", "parent", "slot_at", "hold", "error", "progress", "free_attempts"} & set(told)


def test_free_attempts_and_progress_are_told_where_there_are_some(login: Any) -> None:
    run = login.enqueue()
    Job.objects.filter(pk=run.id).update(
        attempts=3, free_attempts=2, progress_count=4, target_count=9, last_progress_at=NOON
    )
    told = fields_of(run)
    assert told["attempts"] == "3 of 4, 2 of them free"
    assert told["progress"] == {"count": 4, "total": 9, "message": "", "cursor": "", "at": NOON}


def test_an_attempt_is_told_with_its_message_cut(login: Any) -> None:
    run = login.enqueue()
    HandWorker().work()
    JobAttempt.objects.update(message="x" * 500)
    tries = attempts.of_run(run.id)
    ((number, outcome, _, took, message),) = attempt_rows(tries)
    assert (number, outcome, len(str(message))) == (1, "error", 60)
    assert str(took).endswith("s")
    assert "traceback" not in attempt_data(tries[0], with_log=False)
    assert "ConnectionError" in attempt_data(tries[0], with_log=True)["traceback"]
