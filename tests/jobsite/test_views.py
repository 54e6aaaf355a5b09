"""The landing page leads to what each example shows, and its frame tells what is going on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

import examples
from jobs_app.models import Job

pytestmark = [pytest.mark.django_db, pytest.mark.urls("jobsite.urls"), pytest.mark.usefixtures("examples")]


@pytest.fixture
def demo(settings: Any) -> None:
    """As `make demo` has it."""
    settings.DEBUG = True


def test_every_example_has_a_card_and_each_of_its_links_leads_to_a_page(client: Client) -> None:
    client.force_login(User.objects.create_superuser("demo"))
    page = client.get("/").content.decode()

    assert page.count("<h3>") == len(examples.ALL)
    addresses = {address.replace("&amp;", "&") for address in re.findall(r'href="(/[^"#]+)', page)}
    answers = {address: client.get(address).status_code for address in addresses if not address.startswith("/static/")}
    assert {address: status for address, status in answers.items() if status != 200} == {}
    assert len(answers) > 2 * len(examples.ALL)


def test_the_frame_lists_the_latest_runs_with_the_example_they_belong_to(client: Client, demo: None) -> None:
    from examples.first_steps.jobs import greet

    greet.options(delay=60, subject="mathematics").enqueue(name="Ada")

    page = client.get("/now/").content.decode()

    assert '<span class="status scheduled">scheduled</span>' in page
    assert "<td>First steps</td>" in page
    assert ">greet</a></td>" in page
    assert "<td>mathematics</td>" in page


@pytest.mark.parametrize("address", ["/", "/now/"])
def test_the_pages_need_no_inline_code_so_any_content_security_policy_can_hold(
    client: Client, demo: None, address: str
) -> None:
    page = client.get(address).content.decode()

    assert "<script" not in page
    assert "<style" not in page
    assert "style=" not in page


def test_the_button_enqueues_one_more_round(client: Client, demo: None) -> None:
    assert client.post("/again/").status_code == 302
    assert {"greet", "count-words", "send-invoice"} <= set(Job.objects.values_list("job_type", flat=True))


def test_outside_of_the_demo_there_is_no_button_and_runs_are_for_those_who_may_see_payloads(client: Client) -> None:
    page = client.get("/").content.decode()
    assert "<button" not in page
    assert "<iframe" not in page
    assert [client.get("/now/").status_code, client.post("/again/").status_code] == [404, 404]
    assert not Job.objects.exists()

    client.force_login(User.objects.create_superuser("ada"))
    assert client.get("/now/").status_code == 200
    assert "<iframe" in client.get("/").content.decode()
