"""Trigger by a form: what it stores, what it refuses, who may, and a run again with changes."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID, uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs_app import get_run, job
from jobs_app.lifecycle import control
from jobs_app.models import ControlEvent, Job, JobRun, Run
from tests.by_hand import HandWorker

pytestmark = pytest.mark.django_db

Visitor = Callable[..., Client]
PageUrl = Callable[..., str]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Address:
    street: str


@pytest.fixture
def greet() -> Any:
    @job(queue="mail", subject="name", policy="singleton")
    def greet(name: str, times: int = 1, token: str = "") -> None:
        """Say hello.

        :param times: how often
        """
        if name == "nobody":
            raise ValueError("nobody is there")

    return greet


def post(client: Client, url: str, **typed: Any) -> Any:
    return client.post(url, {"when": "now"} | {name.replace("__", "-"): value for name, value in typed.items()})


def the_run() -> Run:
    return Run.objects.get()


def test_the_form_has_a_field_for_each_of_the_payload(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    page = visitor("trigger_job").get(page_url("jobdefinition_trigger", "greet")).content.decode()
    assert 'name="payload-name"' in page
    assert 'name="payload-times" value="1"' in page
    assert 'type="password" name="payload-token"' in page
    assert "how often" in page
    assert "Say hello." in page


@pytest.mark.spec("S2.8", "S0.47", "S2.R5")
def test_a_valid_form_queues_one_run_and_leads_to_it(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    answer = post(client, url, payload__name="Ann", payload__times="3", reason="asked for", priority="7")
    run = the_run()
    assert (answer.status_code, answer.url) == (302, page_url("run_detail", run.pk))
    assert (run.state, run.queue, run.subject, run.priority) == ("queued", "mail", "Ann", 7)
    assert run.payload == {"name": "Ann", "times": 3}
    assert run.queued_at is not None
    user = User.objects.get()
    assert run.actor == user.username
    event = ControlEvent.objects.get()
    assert (event.action, event.actor, event.reason, event.target) == ("trigger", run.actor, "asked for", str(run.pk))
    assert LogEntry.objects.get().user == user


@pytest.mark.spec("S2.R1", "A2.2")
def test_a_payload_that_does_not_fit_is_told_at_its_field_and_stores_nothing(
    visitor: Visitor, page_url: PageUrl, greet: Any
) -> None:
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    answer = post(client, url, payload__name="Ann", payload__times="often")
    assert answer.status_code == 200
    assert list(answer.context["form"].errors) == ["payload-times"]
    for typed in ("[]", "{", '{"nam": "Ann"}', '{"name": 1}'):
        answer = client.post(f"{url}?as=json", {"payload": typed})
        assert answer.status_code == 200
        assert answer.context["form"].errors["payload"]
    assert (Job.objects.count(), JobRun.objects.count(), ControlEvent.objects.count()) == (0, 0, 0)


@pytest.mark.spec("S2.R1", "A2.2")
def test_an_unknown_name_is_not_found(visitor: Visitor, page_url: PageUrl) -> None:
    assert visitor("trigger_job").get(page_url("jobdefinition_trigger", "nobody")).status_code == 404


def test_the_preview_shows_what_would_be_stored_and_stores_nothing(
    visitor: Visitor, page_url: PageUrl, greet: Any
) -> None:
    control.pause("queue", "mail", "ops", "flood")
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    answer = post(client, url, payload__name="<Ann>", payload__token="s3cret", preview="1", key="k")
    planned = answer.context["planned"]
    assert planned["payload"] == {"name": "<Ann>", "token": "[hidden]"}
    assert (planned["draft"].queue, planned["draft"].key, planned["due_at"]) == ("mail", "k", None)
    assert planned["policy"] == "one running"
    page = answer.content.decode()
    assert "queue mail" in page
    assert "flood" in page
    assert "No live worker serves queue mail" in page
    assert "<Ann>" not in page
    assert not Job.objects.exists()


def test_when_is_now_or_later(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    post(client, url, payload__name="Ann", when="delay", delay="5m")
    run = the_run()
    assert timedelta(minutes=4) < run.run_at - run.queued_at <= timedelta(minutes=5, seconds=1)
    Job.objects.all().delete()
    post(client, url, payload__name="Ann", when="at", run_at="2126-01-31T09:00")
    assert the_run().run_at == timezone.make_aware(datetime(2126, 1, 31, 9))


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"when": "at"}, "run_at"),
        ({"when": "delay"}, "delay"),
        ({"when": "delay", "delay": "soon"}, "delay"),
        ({"when": "at", "run_at": "2001-01-01T00:00"}, "run_at"),
        ({"when": "now", "delay": "5m"}, "delay"),
        ({"priority": "101"}, "priority"),
        ({"key": "k" * 201}, "key"),
        ({"subject": "s" * 201}, "subject"),
    ],
)
def test_what_cannot_be_used_is_told_at_its_field(
    visitor: Visitor, page_url: PageUrl, greet: Any, typed: dict[str, str], field: str
) -> None:
    answer = post(visitor("trigger_job"), page_url("jobdefinition_trigger", "greet"), payload__name="Ann", **typed)
    assert list(answer.context["form"].errors) == [field]
    assert not Job.objects.exists()


def test_an_idempotency_key_that_was_used_leads_to_its_run(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    for _ in range(2):
        answer = post(client, url, payload__name="Ann", idempotency_key="once")
    assert answer.url == page_url("run_detail", the_run().pk)
    told = client.get(page_url("jobdefinition_trigger", "greet")).content.decode()
    assert "Nothing new was queued" in told


def test_a_type_that_is_switched_off_queues_nothing(visitor: Visitor, page_url: PageUrl) -> None:
    @job(enabled=False)
    def off() -> None: ...

    client = visitor("trigger_job")
    answer = post(client, page_url("jobdefinition_trigger", "off"))
    assert "switched off" in str(answer.context["form"].non_field_errors())
    assert not Job.objects.exists()


def test_the_permission_of_the_type_is_needed_beside_that_of_the_verb(visitor: Visitor, page_url: PageUrl) -> None:
    @job(permission="auth.pay_out")
    def pay(amount: int) -> None: ...

    url = page_url("jobdefinition_trigger", "pay")
    client = visitor("trigger_job")
    assert client.get(url).status_code == 403
    assert post(client, url, payload__amount="5").status_code == 403
    kind = ContentType.objects.get_for_model(User)
    permission = Permission.objects.create(codename="pay_out", name="Can pay out", content_type=kind)
    User.objects.get().user_permissions.add(permission)
    assert post(client, url, payload__amount="5").status_code == 302
    assert the_run().payload == {"amount": 5}
    without_verb = visitor()
    User.objects.latest("pk").user_permissions.add(permission)
    assert without_verb.get(url).status_code == 403


def test_who_may_only_look_cannot_trigger(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    url = page_url("jobdefinition_trigger", "greet")
    client = visitor()
    assert client.get(url).status_code == 403
    assert post(client, url, payload__name="Ann").status_code == 403
    assert not Job.objects.exists()


def ended(definition: Any, **given: Any) -> Run:
    """A run that has ended."""
    options = given.pop("options", {})
    run = definition.options(max_attempts=1, **options).enqueue(**given)
    assert HandWorker().work() is not None
    return Run.objects.get(pk=run.id)


@pytest.mark.spec("S2.33")
def test_run_again_with_changes_fills_in_all_but_secrets(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    run = ended(greet, name="nobody", times=4, token="s3cret", options={"priority": 3})
    client = visitor("trigger_job", "retry_run", "view_payload")
    url = page_url("jobdefinition_trigger", "greet") + f"?again={run.pk}"
    page = client.get(url).content.decode()
    assert 'name="payload-name" value="nobody"' in page
    assert 'name="payload-times" value="4"' in page
    assert 'name="priority" value="3"' in page
    assert "s3cret" not in page
    typed = {"payload__name": "nobody", "payload__times": "5", "priority": "3"}
    answer = post(client, url, **typed, payload__token="")
    assert list(answer.context["form"].errors) == ["payload-token"]
    answer = post(client, url, **typed, payload__token="new", reason="once more")
    again = Run.objects.get(state="queued")
    assert answer.url == page_url("run_detail", again.pk)
    assert (again.parent, again.priority) == (run.pk, 3)
    assert again.payload == {"name": "nobody", "times": 5, "token": "new"}
    assert ControlEvent.objects.latest("pk").action == "retry"


def test_another_subject_makes_a_new_run_that_is_linked_too(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    run = ended(greet, name="nobody")
    client = visitor("trigger_job", "retry_run", "view_payload")
    url = page_url("jobdefinition_trigger", "greet") + f"?again={run.pk}"
    post(client, url, payload__name="Ann", payload__times="1", priority="0")
    again = Run.objects.get(state="queued")
    assert (again.subject, again.parent) == ("Ann", run.pk)
    assert ControlEvent.objects.latest("pk").action == "trigger"


def test_without_the_permission_to_retry_it_is_triggered(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    run = ended(greet, name="nobody")
    client = visitor("trigger_job", "view_payload")
    post(client, page_url("jobdefinition_trigger", "greet") + f"?again={run.pk}", payload__name="nobody", priority="0")
    assert Run.objects.get(state="queued").parent == run.pk
    assert ControlEvent.objects.latest("pk").action == "trigger"


def test_who_may_not_see_payloads_gets_an_empty_form(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    run = ended(greet, name="nobody", times=7777777)
    page = visitor("trigger_job").get(page_url("jobdefinition_trigger", "greet") + f"?again={run.pk}").content.decode()
    assert "You may not see payloads" in page
    assert "7777777" not in page


def test_a_payload_that_the_form_could_not_give_back_is_shown_as_json(visitor: Visitor, page_url: PageUrl) -> None:
    @job
    def lines(items: list[str]) -> None: ...

    run = ended(lines, items=["", "b"])
    client = visitor("trigger_job", "retry_run", "view_payload")
    url = page_url("jobdefinition_trigger", "lines") + f"?again={run.pk}"
    shown = client.get(url)
    assert shown.context["as_json"]
    client.post(url, {"payload": shown.context["form"]["payload"].value(), "priority": "0"})
    again = Run.objects.get(state="queued")
    assert (again.payload, again.parent) == ({"items": ["", "b"]}, run.pk)


def test_what_is_no_run_of_the_type_is_not_found(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    @job
    def other() -> None: ...

    url = page_url("jobdefinition_trigger", "greet")
    client = visitor("trigger_job")
    for again in (ended(other).pk, uuid4(), "nonsense"):
        assert client.get(f"{url}?again={again}").status_code == 404


def test_subjects_that_are_known_are_offered_escaped(visitor: Visitor, page_url: PageUrl, greet: Any) -> None:
    ended(greet, name="<b>nobody")
    page = visitor("trigger_job").get(page_url("jobdefinition_trigger", "greet")).content.decode()
    assert '<option value="&lt;b&gt;nobody">' in page


@pytest.mark.spec("S2.33")
def test_every_kind_of_value_is_stored_as_the_handler_gets_it(visitor: Visitor, page_url: PageUrl) -> None:
    got: dict[str, Any] = {}

    @job
    def everything(
        whole: int,
        number: float,
        exact: Decimal,
        flag: bool,
        text: str,
        choice: Literal["a", 1],
        colour: Colour,
        day: date,
        moment: datetime,
        clock: time,
        length: timedelta,
        ident: UUID,
        maybe: int | None,
        many: list[int],
        anything: dict[str, Any],
        place: Address,
    ) -> None:
        got.update(locals())

    an_id = uuid4()
    typed = {
        "whole": "9007199254740993",
        "number": "0.1",
        "exact": "10.00",
        "flag": "on",
        "text": " ä\N{SNOWMAN}<\r\n",
        "choice": "1",
        "colour": "blue",
        "day": "2026-01-31",
        "moment": "2026-01-31T09:00:00.123456+05:30",
        "clock": "09:00:01",
        "length": "1h",
        "ident": str(an_id),
        "maybe": "",
        "many": "1\r\n2",
        "anything": '{"a": [null, 1.5, "\\u00e4"]}',
        "place": '{"street": "High"}',
    }
    client = visitor("trigger_job")
    answer = client.post(
        page_url("jobdefinition_trigger", "everything"), {f"payload-{name}": value for name, value in typed.items()}
    )
    assert answer.status_code == 302, answer.context["form"].errors
    assert HandWorker().work() is not None
    assert get_run(the_run().pk).status == "succeeded"
    assert {name: got[name] for name in typed} == {
        "whole": 9007199254740993,
        "number": 0.1,
        "exact": Decimal("10.00"),
        "flag": True,
        "text": " ä\N{SNOWMAN}<\n",
        "choice": 1,
        "colour": Colour.BLUE,
        "day": date(2026, 1, 31),
        "moment": datetime.fromisoformat("2026-01-31T09:00:00.123456+05:30"),
        "clock": time(9, 0, 1),
        "length": timedelta(hours=1),
        "ident": an_id,
        "maybe": None,
        "many": [1, 2],
        "anything": {"a": [None, 1.5, "ä"]},
        "place": Address("High"),
    }


def test_showing_the_form_takes_the_same_queries_whatever_is_there(
    visitor: Visitor, page_url: PageUrl, greet: Any, django_assert_max_num_queries: Any
) -> None:
    client = visitor("trigger_job")
    url = page_url("jobdefinition_trigger", "greet")
    client.get(url)
    for name in range(20):
        ended(greet, name=f"subject {name}")
    with django_assert_max_num_queries(12, connection=connection):
        client.get(url)
