"""What administrators are mailed, and that a mail server which is away costs nothing but time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core import mail
from django.core.exceptions import PermissionDenied
from django.core.mail.backends.base import BaseEmailBackend

from jobs_app import get_run, job, mailing, trigger
from jobs_app.errors import Retry
from jobs_app.handles import RunHandle
from jobs_app.lifecycle.deliveries import MAIL
from jobs_app.models import Job, JobRun
from jobs_app.registry import SYSTEM_QUEUE, registry
from jobs_app.testing import run_jobs
from tests.lifecycle.failing import fail, tell
from tests.lifecycle.rows import at
from tests.mail import ADMINS, send_by
from tests.waiting import until
from tests.worker.harness import working

pytestmark = pytest.mark.django_db(transaction=True)

BACKEND = f"{__name__}.MovedBackend"
moved: list[str] = []  # subjects that were tried


@pytest.fixture(autouse=True)
def admins(settings: Any, chores: Any) -> None:
    settings.ADMINS = ADMINS
    send_by(settings, "django.core.mail.backends.locmem.EmailBackend")
    moved.clear()


class MovedBackend(BaseEmailBackend):
    """A mail server that is away."""

    def send_messages(self, messages: Any) -> int:
        moved.extend(str(message.subject) for message in messages)
        raise ConnectionRefusedError(111, "Connection refused")


def sent() -> RunHandle:
    """The job that mails, after its next attempt."""
    [run] = run_jobs(job_types=[MAIL], raise_errors=False)
    return run


def test_a_thousand_failures_are_one_mail() -> None:
    with at(0):
        fail(998, "send_invoice")
        fail(2, "sync", error_class="TimeoutError", error="token=4711 was\nrefused")
    assert tell(10) == 1000
    assert sent().status == "succeeded"
    [message] = mail.outbox
    assert message.subject == "[Django] 1,000 jobs failed: send_invoice (998), sync (2)"
    assert message.to == ["ada@example.com"]
    assert message.body == (
        "1,000 jobs failed for good.\n"
        "\n"
        "send_invoice, 998 times: ValueError\n"
        "    no such card\n"
        "    at 2026-01-01 12:00:00 UTC\n"
        f"    manage.py jobs show {run_in(message.body, 0)}\n"
        "\n"
        "sync, 2 times: TimeoutError\n"
        "    token=[hidden] was\\nrefused\n"
        "    at 2026-01-01 12:00:00 UTC\n"
        f"    manage.py jobs show {run_in(message.body, 1)}\n"
        "\n"
        "Further failures are told together, 300 seconds from now at the earliest.\n"
    )
    assert [get_run(run_in(message.body, place)).job_type for place in (0, 1)] == ["send_invoice", "sync"]
    assert not run_jobs(job_types=[MAIL])


def run_in(body: str, place: int) -> str:
    return [line.split()[-1] for line in body.splitlines() if "jobs show" in line][place]


def test_a_site_that_says_where_it_is_gets_links(settings: Any) -> None:
    settings.JOBS = {"SITE_URL": "https://shop.example/"}
    fail()
    tell(0)
    sent()
    run = JobRun.objects.get(job_type="work")
    assert f"    https://shop.example/admin/jobs_app/run/{run.pk}/\n" in mail.outbox[0].body


def test_one_failure_and_many_kinds_are_told_in_words() -> None:
    group = {"job_type": "a", "error_class": "", "error": "", "count": 1, "run": "1", "first_at": "", "last_at": ""}
    few = {"count": 1, "is_more": False, "other_groups": 0, "groups": [group]}
    assert mailing.subject(few) == "1 job failed: a (1)"
    assert "a, once:" in list(mailing.lines(few))
    groups = [group | {"job_type": name} for name in "abcd"]
    many = {"count": 1234567, "is_more": True, "other_groups": 950, "groups": groups}
    assert mailing.subject(many) == "more than 1,234,567 jobs failed: a (1), b (1), c (1), others"
    assert "\nAnd 950 other kinds of failures." in list(mailing.lines(many))


def test_a_mail_server_that_is_away_is_tried_again_and_the_message_stays(settings: Any) -> None:
    send_by(settings, BACKEND)
    fail(3)
    tell(0)
    run = sent()
    assert (run.status, run.error) == ("retrying", "[Errno 111] Connection refused")
    send_by(settings, "django.core.mail.backends.locmem.EmailBackend")
    assert run_jobs(job_types=[MAIL], at="1h")[0].status == "succeeded"
    assert [message.subject for message in mail.outbox] == ["[Django] 3 jobs failed: work (3)"]
    assert moved == ["[Django] 3 jobs failed: work (3)"]


def test_one_that_died_after_it_had_sent_sends_again() -> None:
    """Twice is better than never: whether the mail went out is known to nobody."""
    fail()
    tell(0)
    waiting = Job.objects.get(job_type=MAIL)
    mailing.mail_failures(**waiting.payload)
    assert sent().status == "succeeded"
    assert len(mail.outbox) == 2


def test_a_mail_server_that_never_answers_does_not_hold_up_the_chores() -> None:
    answers = threading.Event()
    with pytest.raises(Retry, match=r"did not take it within 0\.01 seconds"):
        mailing.within(0.01, answers.wait)
    answers.set()


def test_a_mail_that_nobody_takes_stops_nothing_else(settings: Any) -> None:
    send_by(settings, BACKEND)

    @job
    def work() -> None: ...

    with working():
        fail(5, "other")
        trigger("jobs.notify")
        until(lambda: moved)
        run = work.enqueue()
        until(lambda: run.refresh().status == "succeeded")
    assert Job.objects.get(job_type=MAIL).payload["failures"]["count"] == 5


def test_a_worker_tells_what_failed(settings: Any) -> None:
    @job(max_attempts=1)
    def charge() -> None:
        raise ValueError("no such card")

    run = charge.enqueue()
    with working():
        until(lambda: run.refresh().status == "failed")
        trigger("jobs.notify")
        [message] = until(lambda: mail.outbox)
    assert message.subject == "[Django] 1 job failed: charge (1)"
    assert "ValueError\n    no such card\n" in message.body


def test_nobody_may_write_one_by_hand_and_it_is_kept_for_a_day() -> None:
    job_type = registry.get(MAIL)
    assert (job_type.queue, job_type.max_attempts) == (SYSTEM_QUEUE, 30)
    user = get_user_model().objects.create_user("ada", is_staff=True)
    with pytest.raises(PermissionDenied):
        trigger(MAIL, {"failures": {}}, actor=user)
