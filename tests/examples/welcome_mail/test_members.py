"""Each member is welcomed once, however they came, however often it is asked for, and nobody else is."""

from __future__ import annotations

import re
from threading import Event
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from examples.welcome_mail import jobs
from examples.welcome_mail.demo import fill
from examples.welcome_mail.joining import join
from examples.welcome_mail.models import Member
from jobs_app import current_job
from jobs_app.errors import JobDisabled
from jobs_app.models import Job, Run
from jobs_app.testing import run_jobs
from tests.examples.welcome_mail.conftest import Joins, attempts_of, outcomes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]


def test_who_is_added_in_the_admin_is_welcomed(client: Client, mailoutbox: list[Any]) -> None:
    client.force_login(User.objects.create_superuser("ann"))
    client.post(reverse("admin:welcome_mail_member_add"), {"name": "Ada", "email": "ada@example.com"})

    run_jobs()

    assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]
    page = client.get(reverse("admin:welcome_mail_member_changelist")).text
    assert reverse("admin:jobs_app_subject_detail", args=[Run.objects.get().subject]) in page


@pytest.mark.spec("S2.R3")
def test_who_does_not_join_in_the_end_has_no_run() -> None:
    with transaction.atomic():
        join("Ada", "ada@example.com")
        transaction.set_rollback(True)

    assert (Member.objects.count(), Run.objects.count()) == (0, 0)


def test_a_second_run_for_a_member_sends_nothing_unless_it_was_meant(joins: Joins, mailoutbox: list[Any]) -> None:
    first = joins("Ada")
    [ran] = run_jobs()
    jobs.send_welcome_email.enqueue(**first.payload)

    assert [run.result for run in run_jobs()] == ["was welcomed before"]
    jobs.send_welcome_email.enqueue(**first.payload, again=True)
    assert [run.result for run in run_jobs()] == [ran.result]
    assert len(mailoutbox) == 2


def test_who_was_missed_is_found_by_the_clock_and_has_one_run_however_often(mailoutbox: list[Any]) -> None:
    join("Ada", "ada@example.com")
    Member.objects.create(name="Joan", email="joan@example.com")  # by an import

    found = [jobs.welcome_the_missed.enqueue() for _ in range(2)]
    run_jobs(job_types=jobs.welcome_the_missed)

    assert sorted(run.refresh().result for run in found) == [0, 1]
    assert Job.objects.filter(job_type="send-welcome-email").count() == 2


@pytest.mark.spec("S2.4")
def test_while_the_mail_is_switched_off_members_join_and_are_welcomed_later(
    monkeypatch: pytest.MonkeyPatch, mailoutbox: list[Any]
) -> None:
    monkeypatch.setenv("ENABLE_WELCOME_MAIL", "false")
    ada = join("Ada", "ada@example.com")
    with pytest.raises(JobDisabled):
        jobs.send_welcome_email.enqueue(member=ada.pk)
    assert not Run.objects.exists()

    monkeypatch.setenv("ENABLE_WELCOME_MAIL", "true")
    jobs.welcome_the_missed.enqueue()
    run_jobs()
    assert [mail.to for mail in mailoutbox] == [["ada@example.com"]]


@pytest.mark.spec("S2.R2")
def test_who_has_left_meanwhile_is_not_written_to_and_not_tried_again(joins: Joins, mailoutbox: list[Any]) -> None:
    run = joins("Ada")
    Member.objects.all().delete()

    run_jobs(raise_errors=False)

    assert (run.refresh().status, outcomes(run), mailoutbox) == ("failed", ["error"], [])


@pytest.mark.spec("S2.R7")
def test_a_mail_server_that_is_silent_for_too_long_is_told_with_the_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def send_mail(*_: Any) -> None:
        Event().wait(current_job().remaining())
        raise TimeoutError("the server is silent")

    monkeypatch.setattr(jobs, "send_mail", send_mail)
    ada = Member.objects.create(name="Ada", email="ada@example.com")
    run = jobs.send_welcome_email.options(timeout=0.1).enqueue(member=ada.pk)
    run_jobs(raise_errors=False)

    [attempt] = attempts_of(run)
    assert attempt.outcome == "timeout"
    assert re.fullmatch(r"timed out after \S+ s \(limit 0.1 s\): TimeoutError: the server is silent", attempt.message)


def test_the_demo_may_be_filled_again_and_again(mailoutbox: list[Any]) -> None:
    fill()
    fill()  # before anybody was welcomed
    assert Run.objects.filter(subject__startswith="member").count() == 4
    run_jobs()
    fill()

    assert Member.objects.filter(welcomed_at=None).count() == 5
    assert Job.objects.count() == 4
