"""A mail is asked for by a form or a request: who asked, how long it waited, who sent it; and what is refused."""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from examples.welcome_mail.mailbox import Mailbox
from examples.welcome_mail.models import Member
from jobs_app import get_run, trigger
from jobs_app.durations import rough
from jobs_app.errors import PayloadInvalid, UnknownJobType
from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, Run
from tests.examples.site import Site
from tests.examples.welcome_mail.conftest import attempts_of
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]

NAME = "send-welcome-email"


@pytest.fixture
def ada() -> Member:
    """A member whom nobody has welcomed yet."""
    return Member.objects.create(name="Ada", email="ada@example.com")


def visitor(*permissions: str) -> Client:
    user = User.objects.create_user("ann", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_dashboard", *permissions]))
    client = Client()
    client.force_login(user)
    return client


def submit(client: Client, member: int) -> Any:
    form = reverse("admin:jobs_app_jobdefinition_trigger", args=[NAME])
    return client.post(form, {"when": "now", "payload-member": member, "reason": "she asked"})


def token(*scopes: str) -> str:
    return control.create_token("-".join(scopes), "ann", scopes=scopes).text


def post(url: str, secret: str, **body: Any) -> tuple[int, dict[str, Any]]:
    """The status and what was answered."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
    request = Request(f"{url}/jobs/api/functions/trigger-job", json.dumps(body).encode(), headers)
    try:
        with urlopen(request) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.spec("A2.1", "S2.8", "S2.10", "S2.12", "S2.R5")
def test_a_run_is_followed_from_the_form_in_the_admin_to_the_mail_that_was_sent(
    site: Site, mailbox: Mailbox, ada: Member
) -> None:
    ann = visitor("trigger_job", "view_payload")
    mailbox.door.clear()

    address = submit(ann, ada.pk).url
    run = get_run(Run.objects.get().pk)
    assert address == reverse("admin:jobs_app_run_detail", args=[run.id])
    assert (run.label, run.payload["member"], run.queued_at is not None) == ("queued", str(ada.pk), True)
    [asked] = ControlEvent.objects.filter(action="trigger")
    assert (asked.actor, asked.reason, asked.target) == ("ann", "she asked", str(run.id))
    assert "so far" in ann.get(address).text  # it waits

    site.start_worker()
    until(lambda: mailbox.asked)
    assert (run.refresh().label, bool(run.worker_id), run.started_at is not None) == ("running", True, True)
    mailbox.door.set()
    until(lambda: run.refresh().is_finished)

    assert (run.label, run.result, mailbox.taken) == ("success", "sent to ada@example.com", ["ada@example.com"])
    page = ann.get(address).text
    assert f"<dt>Wait time</dt><dd>{rough(run.wait_seconds)}</dd>" in page
    assert attempts_of(run)[0].worker_id in page
    ada.refresh_from_db()
    assert ada.welcomed_at is not None


def test_two_who_ask_at_once_cause_one_mail(site: Site, mailbox: Mailbox, ada: Member) -> None:
    grace = Member.objects.create(name="Grace", email="grace@example.com")
    mailbox.door.clear()
    runs = [trigger(NAME, {"member": member.pk}) for member in (ada, ada, grace)]
    site.start_worker()
    until(lambda: "grace@example.com" in mailbox.asked)  # who came last

    mailbox.door.set()

    until(lambda: all(run.refresh().is_finished for run in runs))
    assert sorted(mailbox.taken) == ["ada@example.com", "grace@example.com"]
    assert runs[1].result == "was welcomed before"


@pytest.mark.spec("A2.2", "S2.14", "S2.R1")
def test_a_post_answers_run_id_and_status_and_what_is_refused_stores_nothing(site: Site, ada: Member) -> None:
    url, may, may_not = site.start_web(), token("trigger"), token("read")
    body = {"jobName": NAME, "payload": {"member": ada.pk}}

    assert post(url, may, jobName=NAME, payload={"member": ada.pk + 1})[0] == 422
    assert post(url, may, jobName="send-welcome-mail", payload={})[0] == 404
    assert [post(url, secret, **body)[0] for secret in (may_not, "unknown")] == [403, 401]
    assert not Run.objects.exists()

    status, told = post(url, may, **body)
    assert (status, told) == (200, {"runId": str(Run.objects.get().pk), "status": "queued", "created": True})


@pytest.mark.spec("A2.2", "S2.R1")
def test_a_wrong_payload_is_told_at_its_field_and_stores_nothing(ada: Member) -> None:
    answered = submit(visitor("trigger_job"), ada.pk + 1)

    assert answered.context["form"].errors.keys() == {"payload-member"}
    for payload in ({}, {"member": "Ada"}, {"member": ada.pk, "agian": True}):
        with pytest.raises(PayloadInvalid):
            trigger(NAME, payload)
    with pytest.raises(UnknownJobType, match=f"Did you mean '{NAME}'"):
        trigger("send-welcome-mail", {"member": ada.pk})
    assert not Run.objects.exists()


@pytest.mark.spec("A2.2")
def test_a_session_without_the_permission_gets_403(ada: Member) -> None:
    assert submit(visitor(), ada.pk).status_code == 403
    assert not Run.objects.exists()
