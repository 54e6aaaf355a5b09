"""Do the rates fit? The worked example, on the command line and by the link of the example's card."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from tests.examples.site import Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]


def command(deal: str, retrieval: str) -> list[str]:
    types = ["--type", f"deal:{deal}", "--type", f"retrieval:{retrieval}"]
    return ["jobs", "capacity", *types, "--subjects", "18", "--processes", "5", "--slots", "10"]


@pytest.mark.spec("A0.1", "S0.39", "S0.40", "S0.42")
def test_the_worked_example(make_checks: Callable[..., Site]) -> None:
    told = make_checks().manage(*command("4:5m", "6:2m"))
    assert "32 of 60 minutes an hour are used, 28 are left" in told
    for number in ("600", "1500", "150", "250"):
        assert re.search(rf"\b{number}\b", told), told
    assert "150 subjects at most" in told


@pytest.mark.spec("A0.1", "S0.39")
@pytest.mark.parametrize(
    ("deal", "retrieval", "verdict"),
    [
        ("4:12m", "6:3m", "can never catch up: 66 of 60 minutes an hour are needed, 6 are missing"),
        ("4:9m", "6:4m", "drains: 60 of 60 minutes an hour are used, 0 are left"),
    ],
)
def test_beyond_sixty_minutes_nobody_catches_up_and_sixty_just_drain(
    deal: str, retrieval: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command(*command(deal, retrieval))
    assert verdict in capsys.readouterr().out


@pytest.mark.spec("A0.1", "S0.41", "S0.42", "S0.R17")
def test_the_card_leads_to_the_same_answer_in_the_admin(client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada"))
    link = re.search(r'href="([^"]*/capacity/[^"]*)"', client.get("/").text)
    assert link
    answer = client.get(unescape(link[1])).context["answer"]
    assert (answer.load.minutes, answer.load.headroom) == (32, 28)
    assert [(each.per_hour, each.most_subjects) for _, each in answer.types] == [(600, 150), (1500, 250)]
    assert (answer.limit.most_subjects, answer.pool.most_subjects) == (150, 187)
