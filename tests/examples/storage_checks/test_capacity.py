"""Do the rates fit? The worked example, on the command line and by the link of the example's card."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.examples.site import Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]

SLOTS = ("--subjects", "18", "--processes", "5", "--slots", "10")


def capacity(site: Site, deal: str, retrieval: str, *more: str) -> str:
    return site.manage("jobs", "capacity", "--type", f"deal:{deal}", "--type", f"retrieval:{retrieval}", *SLOTS, *more)


@pytest.mark.spec("A0.1", "S0.39", "S0.40", "S0.42")
def test_the_worked_example_and_two_that_are_at_the_limit_and_beyond(make_checks: Callable[..., Site]) -> None:
    site = make_checks()
    told = capacity(site, "4:5m", "6:2m")
    assert "32 of 60 minutes an hour are used, 28 are left" in told
    for numbers in ("600", "1500|1,500", "150", "250"):
        assert re.search(rf"\b({numbers})\b", told), told
    assert "can never catch up: 66 of 60 minutes" in capacity(site, "4:12m", "6:3m")
    assert "drains: 60 of 60 minutes an hour are used, 0 are left" in capacity(site, "4:9m", "6:4m")


@pytest.mark.spec("A0.1", "S0.41", "S0.42", "S0.R17")
def test_the_card_leads_to_the_same_answer_in_the_admin(client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    link = re.search(r'href="([^"]*/capacity/[^"]*)"', client.get("/").text)
    assert link
    answer = client.get(unescape(link[1])).context["answer"]
    assert (answer.load.minutes, answer.load.headroom) == (32, 28)
    assert [(each.per_hour, each.most_subjects) for _, each in answer.types] == [(600, 150), (1500, 250)]
    assert (answer.limit.most_subjects, answer.pool.most_subjects) == (150, 187)
