"""Failures are told together: each in one message, whoever ends the runs and however many processes tell."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs_app.lifecycle import control, grouped, untold
from jobs_app.lifecycle.deliveries import MAIL, WEBHOOK, WEBHOOK_OF_FAILURES
from jobs_app.lifecycle.finish import finish
from jobs_app.lifecycle.recover import recover
from jobs_app.models import Gate, Job, JobRun, UntoldFailures
from jobs_app.registry import SYSTEM_QUEUE
from tests.lifecycle.failing import fail, messages, tell
from tests.lifecycle.rows import T, at, done, ended, one_running, stored, tables, take
from tests.lifecycle.sessions import sessions
from tests.mail import ADMINS

pytestmark = pytest.mark.django_db(transaction=True)

OPS = {"name": "ops", "url": "https://ops.example/", "secret": "sixteen or more characters", "grouped": True}


@pytest.fixture
def admins(settings: Any) -> None:
    settings.ADMINS = ADMINS


def told() -> list[int]:
    """How many failures each mail has."""
    return [message["count"] for message in messages(MAIL)]


def untold_count() -> int:
    return sum(UntoldFailures.objects.values_list("count", flat=True))


def test_a_thousand_failures_are_one_message(admins: None) -> None:
    with at(0):
        fail(998, "send_invoice")
    with at(10):
        fail(2, "sync", error_class="TimeoutError", error="the bank\nis slow")
    assert tell(20) == 1000
    [message] = messages(MAIL)
    assert (message["count"], message["is_more"], message["other_groups"]) == (1000, False, 0)
    first, second = message["groups"]
    assert JobRun.objects.get(pk=first.pop("run")).job_type == "send_invoice"
    assert first == {
        "job_type": "send_invoice",
        "queue": "default",
        "error_class": "ValueError",
        "count": 998,
        "first_at": T.isoformat(),
        "last_at": T.isoformat(),
        "error": "no such card",
    }
    assert (second["job_type"], second["error_class"], second["count"]) == ("sync", "TimeoutError", 2)
    assert second["error"] == "the bank\\nis slow"
    assert (Job.objects.get().queue, untold_count()) == (SYSTEM_QUEUE, 0)


def test_the_first_is_told_at_once_and_what_follows_in_the_next_message(admins: None) -> None:
    fail()
    assert tell(0) == 1
    fail(3)
    assert [tell(60), tell(299)] == [0, 0]
    fail(2)
    assert tell(300) == 5
    assert [tell(600), tell(900)] == [0, 0]
    fail()
    assert tell(960) == 1
    assert told() == [1, 5, 1]


def test_how_long_it_waits_is_a_setting(admins: None, settings: Any) -> None:
    settings.JOBS = {"NOTIFY_EVERY_SECONDS": 3600}
    fail()
    tell(0)
    fail()
    assert [tell(3599), tell(3600)] == [0, 1]


def test_kinds_are_job_types_and_classes_of_errors(admins: None) -> None:
    for job_type, error_class in (("a", "OSError"), ("a", "ValueError"), ("b", "OSError"), ("a", "OSError")):
        fail(1, job_type, error_class=error_class)
    tell(0)
    groups = messages(MAIL)[0]["groups"]
    found = [(group["job_type"], group["error_class"], group["count"]) for group in groups]
    assert found == [("a", "OSError", 2), ("a", "ValueError", 1), ("b", "OSError", 1)]


def test_what_is_tried_again_or_ends_well_is_not_told(admins: None) -> None:
    assert done(one_running(), "queued", error="not yet", error_class="ValueError")
    [again] = take()
    assert done(again)
    assert done(one_running(), "cancelled")
    assert not UntoldFailures.objects.exists()
    assert tell(0) == 0


def test_however_a_job_fails_it_is_told(admins: None) -> None:
    with at(-10):
        stored(expires_at=T)
    with at(0):
        one_running(max_attempts=1)
    with at(31):
        recover(connection)
    lost, [waiting] = one_running(), stored()
    control.fail([lost.id, waiting], "ada", "it is gone")
    assert JobRun.objects.filter(state="failed").count() == untold_count() == 4


def test_an_end_that_is_rolled_back_is_not_told(admins: None) -> None:
    one = one_running()
    with transaction.atomic():
        finish(connection, [ended(one, "failed")])
        assert untold_count() == 1
        transaction.set_rollback(True)
    assert untold_count() == 0


def test_one_that_commits_late_is_told_with_its_own_time(admins: None) -> None:
    """No mark in time is moved past it."""
    with sessions(1) as [late]:
        one = one_running()
        if connection.vendor == "postgresql":
            late.begin()
            with at(0):
                late.do(finish, connection, [ended(one, "failed")])
            fail()
            assert tell(100) == 1
            late.commit()
        else:  # nobody else writes meanwhile; a report may be late all the same
            fail()
            assert tell(100) == 1
            with at(99):
                late.do(finish, connection, [ended(one, "failed", finished_ago=99.0)])
    assert tell(400) == 1
    assert messages(MAIL)[1]["groups"][0]["last_at"] == T.isoformat()


def test_of_many_processes_one_tells(admins: None) -> None:
    fail(50)
    with sessions(6) as processes:
        futures = [process.start(lambda: grouped.tell(connection)) for process in processes]
        assert sorted(future.result(timeout=60) for future in futures) == [0] * 5 + [50]
    assert told() == [50]


def test_a_process_that_dies_while_it_tells_leaves_all_to_the_next(
    admins: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(3)

    def never() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(connection, "_commit", never)
    with pytest.raises(OperationalError):
        tell(0)
    monkeypatch.undo()
    connection.close()
    assert (told(), untold_count()) == ([], 3)
    assert tell(1) == 3
    assert told() == [3]


def test_where_nobody_wants_to_know_nothing_is_noted_or_asked(is_postgres: bool) -> None:
    stored(20)
    reports = [ended(one, "failed", gate=Gate.NONE) for one in take(20)]
    with CaptureQueriesContext(connection) as queries:
        finish(connection, reports)
    assert len(queries) == (1 if is_postgres else 5)  # as before
    with CaptureQueriesContext(connection) as queries:
        assert tell(0) == 0
    assert [("jobs_app_untoldfailures" in query["sql"]) for query in queries] == [True]
    assert (UntoldFailures.objects.count(), Job.objects.count()) == (0, 0)


def test_what_was_noted_is_forgotten_when_nobody_wants_to_know_any_more(admins: None, settings: Any) -> None:
    stored(2)
    finish(connection, [ended(one, "failed") for one in take(2)])
    assert UntoldFailures.objects.exists()
    settings.JOBS = {"NOTIFY_ADMINS": False}
    assert tell(0) == 0
    assert not UntoldFailures.objects.exists()
    assert not Job.objects.exists()


def test_who_wants_to_know_reads_no_history_while_nothing_fails(admins: None, is_postgres: bool) -> None:
    stored(20)
    reports = [ended(one, gate=Gate.NONE) for one in take(20)]
    with CaptureQueriesContext(connection) as queries:
        finish(connection, reports)
    assert len(queries) == (1 if is_postgres else 5)
    with CaptureQueriesContext(connection) as queries:
        assert tell(0) == 0
    read = [query["sql"] for query in queries if "SELECT" in query["sql"]]
    assert len(read) == 1
    assert "jobs_app_untoldfailures" in read[0]


def test_administrators_can_be_left_alone(admins: None, settings: Any) -> None:
    settings.JOBS = {"NOTIFY_ADMINS": False}
    fail()
    assert (tell(0), untold_count()) == (0, 0)


def test_a_batch_of_failures_is_one_row(admins: None) -> None:
    fail(200)
    assert list(UntoldFailures.objects.values_list("count", flat=True)) == [200]


def test_very_many_kinds_are_counted_and_the_largest_are_told(admins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "MOST_GROUPS", 2)
    for number in range(4):
        fail(number + 1, f"type-{number}")
    tell(0)
    [message] = messages(MAIL)
    assert [group["count"] for group in message["groups"]] == [4, 3]
    assert (message["count"], message["other_groups"], message["is_more"]) == (10, 2, False)
    for module in (untold, grouped):
        monkeypatch.setattr(module, "MOST_KINDS", 3)
    for number in range(4):
        fail(number + 1, f"type-{number}")
    tell(300)
    assert (messages(MAIL)[1]["count"], messages(MAIL)[1]["is_more"]) == (9, True)
    assert untold_count() == 0


def test_what_looks_like_a_secret_is_not_told(admins: None) -> None:
    fail(error="login of ada with password='hunter2' at https://u:p4ss@host/ refused")
    tell(0)
    assert messages(MAIL)[0]["groups"][0]["error"] == (
        "login of ada with password=[hidden] at https://[hidden]@host/ refused"
    )


def test_webhooks_are_told_what_they_want(settings: Any, admins: None) -> None:
    settings.JOBS = {"WEBHOOKS": [OPS, OPS | {"name": "money", "job_types": ["charge"]}]}
    fail(2, "charge")
    fail(3, "mail")
    tell(0)
    jobs = Job.objects.filter(job_type=WEBHOOK_OF_FAILURES).order_by("payload__webhook")
    found = [(one.payload["webhook"], one.subject, one.queue, one.payload["failures"]["count"]) for one in jobs]
    assert found == [("money", "webhook:money", "webhooks", 2), ("ops", "webhook:ops", "webhooks", 5)]
    assert (told(), Job.objects.filter(job_type=WEBHOOK).count()) == ([5], 0)


def test_failures_that_only_another_webhook_wants_one_by_one_are_not_grouped(settings: Any) -> None:
    settings.JOBS = {"WEBHOOKS": [OPS | {"job_types": ["charge"]}, OPS | {"name": "each", "grouped": False}]}
    fail(2, "mail")
    assert (untold_count(), Job.objects.filter(job_type=WEBHOOK).count()) == (0, 2)


def test_chores_that_fail_are_told_and_telling_that_fails_is_told_the_other_way(settings: Any, admins: None) -> None:
    settings.JOBS = {"WEBHOOKS": [OPS]}
    for name in ("jobs.prune", MAIL, WEBHOOK, WEBHOOK_OF_FAILURES):
        fail(1, name)
    tell(0)
    [mailed], [posted] = messages(MAIL), messages(WEBHOOK_OF_FAILURES)
    assert {group["job_type"] for group in mailed["groups"]} == {"jobs.prune", WEBHOOK, WEBHOOK_OF_FAILURES}
    assert {group["job_type"] for group in posted["groups"]} == {"jobs.prune", MAIL}


def test_a_failure_that_cannot_be_noted_is_none(admins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one = one_running()
    before = tables()

    def refuse(*given: Any) -> None:
        raise OperationalError("disk full")

    monkeypatch.setattr("jobs_app.lifecycle.announce.note", refuse)
    with pytest.raises(OperationalError):
        done(one, "failed")
    assert tables() == before
