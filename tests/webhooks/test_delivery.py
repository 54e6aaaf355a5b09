"""The job that delivers: what is sent, what is sent again, what never is, and what is not shown to anybody."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import Client

from jobs_app import __version__, get_run, job, trigger
from jobs_app.handles import RunHandle
from jobs_app.lifecycle import control
from jobs_app.lifecycle.deliveries import QUEUE, WEBHOOK
from jobs_app.models import Job, JobAttempt, JobRun
from jobs_app.registry import registry
from jobs_app.testing import run_jobs
from jobs_app.webhooks import delivery as module
from jobs_app.webhooks.delivery import DEPLOYED_BY
from jobs_app.webhooks.sending import post
from tests.lifecycle.rows import T, at, attempts_of, done, one_running
from tests.waiting import until
from tests.webhooks.receiver import PATH, SECRET, Receiver, raw, status
from tests.worker.harness import finished, working

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def ops(settings: Any, chores: Any, receiver: Receiver) -> None:
    """One webhook, `ops`, that leads to the receiver."""
    settings.JOBS = receiver.settings()


def ended_run(state: str = "failed", **changes: Any) -> UUID:
    one = one_running(**changes)
    facts = {"done_reason": "exhausted", "error": "no such card", "traceback": "Traceback: cvv", "result": '{"a": 1}'}
    assert done(one, state, **facts)
    return one.id


def deliver(**options: Any) -> RunHandle:
    """The delivery of the run that has ended, after its next attempt."""
    [run] = run_jobs(queues=QUEUE, **options)
    return run


def after_an_answer(receiver: Receiver, answer: Callable[[Any], None]) -> RunHandle:
    receiver.answers = [answer]
    ended_run()
    return deliver()


def end_of(run: RunHandle) -> str:
    return JobRun.objects.get(pk=run.id).done_reason


def test_a_run_that_ended_is_told_and_signed(receiver: Receiver) -> None:
    with at(0):
        run_id = ended_run(subject="tenant 7", payload='{"card": "4111"}', queue="money")
    delivery = deliver()
    [got] = receiver.got
    assert (delivery.status, delivery.result, got.path) == ("succeeded", {"status": 200}, PATH)
    assert got.is_genuine()
    assert not got.is_genuine("another secret of somebody")
    sent = {name: got.headers[name] for name in ("Content-Type", "User-Agent", "Jobs-Delivery")}
    agent = f"jobs_app/{__version__}"
    assert sent == {"Content-Type": "application/json", "User-Agent": agent, "Jobs-Delivery": str(delivery.id)}
    told = got.told
    assert told.pop("sent_at").endswith("+00:00")
    assert told == {
        "event": "run.finished",
        "delivery": str(delivery.id),
        "webhook": "ops",
        "run": {
            "id": str(run_id),
            "job_type": "work",
            "queue": "money",
            "subject": "tenant 7",
            "state": "failed",
            "outcome": "error",
            "done_reason": "exhausted",
            "attempts": 1,
            "max_attempts": 5,
            "queued_at": T.isoformat(),
            "started_at": T.isoformat(),
            "finished_at": T.isoformat(),
            "error": "no such card",
        },
    }


def test_what_the_run_carried_and_gave_back_is_not_sent(receiver: Receiver) -> None:
    ended_run(payload='{"card": "4111"}')
    deliver()
    assert not any(hidden in receiver.got[0].body for hidden in (b"4111", b"cvv", b'"a"'))


def test_both_secrets_sign_while_receivers_change_over(receiver: Receiver, settings: Any) -> None:
    settings.JOBS = receiver.settings(secret=["the new secret of this webhook", SECRET])
    ended_run()
    deliver()
    [got] = receiver.got
    assert got.is_genuine(SECRET)
    assert got.is_genuine("the new secret of this webhook")


@pytest.mark.parametrize("number", [200, 201, 202, 204])
def test_any_success_ends_it(receiver: Receiver, number: int) -> None:
    run = after_an_answer(receiver, status(number))
    assert (run.status, run.result) == ("succeeded", {"status": number})


@pytest.mark.parametrize("number", [408, 425, 429, 500, 502, 503])
def test_what_passes_is_sent_again_until_it_is_taken(receiver: Receiver, number: int) -> None:
    receiver.answers = [status(number), status(200)]
    ended_run()
    run = deliver()
    assert (run.status, run.error) == ("retrying", f"127.0.0.1 answered {number}")
    assert deliver(at="1h").status == "succeeded"
    first, second = receiver.got
    assert first.told["delivery"] == second.told["delivery"]
    assert second.is_genuine()


def test_ten_attempts_are_made_over_some_hours(receiver: Receiver) -> None:
    receiver.answers = [status(503)]
    with at(0):
        ended_run()
    waits = []
    moment = 0.0
    for _ in range(9):
        with at(moment):
            assert deliver().status == "retrying"
        due = (Job.objects.get(job_type=WEBHOOK).run_at - T).total_seconds()
        waits.append(due - moment)
        moment = due
    with at(moment):
        run = deliver()
    assert (run.status, end_of(run), len(receiver.got)) == ("failed", "exhausted", 10)
    usual = [20, 40, 80, 160, 320, 640, 1280, 2560, 3600]
    assert all(least <= wait <= 1.2 * least for least, wait in zip(usual, waits, strict=True))


@pytest.mark.parametrize(
    ("header", "least", "most"), [("600", 600, 600), ("86400", 3600, 3600), ("0", 20, 24), ("soon", 20, 24)]
)
def test_a_receiver_may_ask_for_a_longer_wait(receiver: Receiver, header: str, least: float, most: float) -> None:
    with at(0):
        after_an_answer(receiver, status(429, Retry_After=header))
    wait = Job.objects.get(job_type=WEBHOOK).run_at - T
    assert timedelta(seconds=least) <= wait <= timedelta(seconds=most)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (302, "127.0.0.1 answered 302; redirects are never followed"),
        (400, "127.0.0.1 answered 400; the receiver refuses the request"),
        (401, "compare the secrets"),
        (404, "does not know the url"),
        (410, "gone for good"),
    ],
)
def test_what_will_never_be_taken_is_not_sent_again(receiver: Receiver, number: int, told: str) -> None:
    run = after_an_answer(receiver, status(number, Location=receiver.url))
    assert (run.status, end_of(run), len(receiver.got)) == ("failed", "permanent", 1)
    assert told in run.error


def test_what_is_no_answer_is_sent_again_and_not_shown(receiver: Receiver) -> None:
    run = after_an_answer(receiver, raw(b"an answer that nobody sees\r\n\r\n"))
    assert (run.status, run.error) == ("retrying", "127.0.0.1: its answer is no HTTP (BadStatusLine)")


def test_a_receiver_that_is_away_is_tried_again(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*given: Any, **options: Any) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(module, "post", away)
    ended_run()
    run = deliver()
    assert (run.status, run.error) == ("retrying", "127.0.0.1: ConnectionRefusedError: [Errno 111] Connection refused")


def test_a_receiver_that_takes_too_long_is_tried_again(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*given: Any, **options: Any) -> Any:
        return post(*given, **options, seconds=0.1)

    monkeypatch.setattr(module, "post", slowly)
    receiver.answers = [lambda handler: receiver.closing.wait(10) and None]
    ended_run()
    run = deliver()
    assert run.status == "retrying"
    assert "TimeoutError" in run.error


def test_an_address_inside_is_refused_unless_it_is_allowed(receiver: Receiver, settings: Any) -> None:
    settings.JOBS = receiver.settings() | {"WEBHOOK_PRIVATE_ADDRESSES": False}
    ended_run()
    run = deliver()
    assert (run.status, end_of(run), receiver.got) == ("failed", "permanent", [])
    assert "127.0.0.1 leads to 127.0.0.1, which is no public address" in run.error
    assert "WEBHOOK_PRIVATE_ADDRESSES" in run.error


def test_a_webhook_that_is_gone_from_the_settings_fails_with_the_reason(receiver: Receiver, settings: Any) -> None:
    ended_run()
    Job.objects.update(attempts=DEPLOYED_BY - 1)
    settings.JOBS = receiver.settings(name="other")
    run = deliver()
    assert (run.status, end_of(run), receiver.got) == ("failed", "permanent", [])
    assert run.error == "this worker knows no webhook named 'ops': see settings.JOBS['WEBHOOKS']"


def test_one_that_the_release_before_does_not_know_is_told_by_a_worker_of_the_new_one(
    receiver: Receiver, settings: Any
) -> None:
    ended_run()
    now, settings.JOBS = settings.JOBS, receiver.settings(name="other")
    assert (deliver().status, receiver.got) == ("retrying", [])
    settings.JOBS = now
    Job.objects.update(run_at=T)
    assert (deliver().status, len(receiver.got)) == ("succeeded", 1)


def test_a_run_that_is_gone_from_history_is_not_told(receiver: Receiver) -> None:
    run_id = ended_run()
    JobRun.objects.all().delete()
    run = deliver()
    assert (run.status, receiver.got) == ("cancelled", [])
    assert run.error == f"run {run_id} is not in the history any more, so there is nothing to tell"


def test_a_worker_delivers_what_its_jobs_cause(receiver: Receiver) -> None:
    @job
    def charge() -> None: ...

    run = charge.enqueue()
    with working():
        assert finished(run) == ["succeeded"]
        got = until(lambda: receiver.got)
        delivery = get_run(UUID(got[0].told["delivery"]))
        assert finished(delivery) == ["succeeded"]
    assert (got[0].told["run"]["id"], got[0].told["run"]["state"]) == (str(run.id), "succeeded")
    assert JobRun.objects.get(pk=delivery.id).subject == "webhook:ops"
    assert (Job.objects.count(), len(receiver.got)) == (0, 1)


def test_nobody_may_write_one_by_hand_and_it_is_kept_for_a_day() -> None:
    job_type = registry.get(WEBHOOK)
    assert job_type.retention == {"succeeded": timedelta(days=1)}
    assert job_type.timeout == 30
    user = get_user_model().objects.create_user("ada", is_staff=True)
    for permission in ("trigger_job", "retry_run"):
        grant(user, permission)
    with pytest.raises(PermissionDenied, match="send_webhook"):
        trigger(WEBHOOK, {"webhook": "ops", "run": str(uuid4()), "job_type": "work"}, actor=user)


def test_those_who_run_the_site_may_send_one_again(receiver: Receiver) -> None:
    run = after_an_answer(receiver, status(400))
    receiver.answers = []
    control.retry(run.id, get_user_model().objects.create_superuser("root"))
    assert deliver().status == "succeeded"
    assert receiver.got[0].told["run"] == receiver.got[1].told["run"]


def grant(user: Any, codename: str) -> None:
    from django.contrib.auth.models import Permission

    user.user_permissions.add(Permission.objects.get(codename=codename))


def whole_database() -> str:
    found = []
    for model in apps.get_models():
        if model._meta.managed:
            found += [str(row) for row in model._base_manager.values()]
    return "\n".join(found)


def test_neither_secret_nor_path_is_in_a_table_a_log_or_a_page(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    user = get_user_model().objects.create_superuser("root")
    browser = Client()
    browser.force_login(user)
    answers = [status(200), status(503), raw(b"an answer that nobody sees\r\n\r\n"), status(302), status(410)]
    shown = []
    with caplog.at_level(logging.DEBUG):
        for answer in answers:
            run = after_an_answer(receiver, answer)
            shown.append(browser.get(f"/admin/jobs_app/run/{run.id}/").content.decode())
            control.cancel(run.id, user, "enough")
        shown.append(browser.get("/admin/jobs_app/runtimesetting/").content.decode())
    seen = [whole_database(), caplog.text, *shown]
    assert "webhook=ops" in caplog.text
    assert all(WEBHOOK in page for page in shown[:-1])
    assert "WEBHOOKS" in shown[-1]
    assert JobAttempt.objects.filter(message__startswith="127.0.0.1").count() == 4
    assert not any(hidden in text for text in seen for hidden in ("nobody sees", "nobody-sees"))


def test_each_delivery_has_one_line_in_the_log(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    receiver.answers = [status(503), status(200)]
    run_id = ended_run()
    with caplog.at_level(logging.INFO, "jobs_app.webhooks"):
        delivery = deliver()
        deliver(at="1h")
    assert [record.getMessage() for record in caplog.records if record.name == "jobs_app.webhooks"] == [
        f"webhook=ops run={run_id} delivery={delivery.id}: 127.0.0.1 answered 503",
        f"webhook=ops run={run_id} delivery={delivery.id}: answered 200",
    ]
    assert [attempt.outcome for attempt in attempts_of(delivery.id)] == ["error", "success"]


def test_the_database_is_asked_for_no_payload(receiver: Receiver) -> None:
    run_id = ended_run(payload='{"card": "4111"}')
    found = module._run(run_id)
    assert {"payload", "result", "meta"} <= found.get_deferred_fields()
    assert connection.alias == found._state.db
