"""What the demo shows: its own directory, its own two scrapers, and the pages to look at."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from examples.lead_scraper import demo, directory
from examples.lead_scraper.models import Lead
from jobs_app.models import ApiToken, Run
from tests.examples.served import served
from tests.examples.site import Site
from tests.lifecycle.rows import attempts_of
from tests.waiting import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("jobsite.urls")]


@pytest.fixture
def site(make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Its directory is quick."""
    monkeypatch.setattr(directory, "PAGE_SECONDS", 0.0)
    with served(directory.Directory().answer) as url:
        yield make_site("lead_scraper", minute=0.1, DIRECTORY_URL=url)


def round_of_searches(city: str) -> dict[str, Run]:
    """By trade, when all have ended."""
    demo.fill()
    runs = Run.objects.filter(job_type="find-leads", subject=city)
    until(lambda: runs.filter(state__in=["succeeded", "failed"]).count() == 3, seconds=60)
    return {run.payload["trade"]: run for run in runs}


@pytest.mark.spec("S1.1", "S1.15", "S1.16", "S1.22", "S1.23")
def test_its_searches_end_in_three_ways_and_the_pages_tell_how(site: Site, client: Client) -> None:
    commands = demo.companions(f"{site.start_web()}/", site.folder)
    for command in commands.values():
        site.start(*command[1:])

    runs = round_of_searches("Bremen")

    ways = {trade: (run.done_reason, run.attempts, run.result_count) for trade, run in runs.items()}
    assert ways == {
        "bakeries": ("target_reached", 2, 33),
        "florists": ("worker_done", 2, 49),
        "dragons": ("permanent", 1, 0),
    }
    broken, whole = attempts_of(runs["florists"].pk)
    assert (broken.success, broken.message) == (False, "HTTP Error 500: Internal Server Error")
    assert (whole.success, whole.log_excerpt.splitlines()[0]) == (True, "page 3 has 5 entries")

    client.force_login(User.objects.create_superuser("ada"))
    searches = client.get(reverse("admin:jobs_app_run_changelist"), {"job_type": "find-leads"}).text
    assert "done" in searches
    page = reverse("admin:jobs_app_run_detail", args=[runs["florists"].pk])
    assert "HTTP Error 500: Internal Server Error" in client.get(page).text
    assert page in client.get(reverse("admin:lead_scraper_lead_changelist"), {"trade": "florists"}).text

    assert round_of_searches("Cadiz")["bakeries"].done_reason == "target_reached"
    assert Lead.objects.filter(city="Bremen").count() == 82


def test_its_scrapers_have_a_token_that_nobody_else_can_read(tmp_path: Path) -> None:
    for _ in range(2):
        commands = demo.companions("http://127.0.0.1:8000/", tmp_path)

    file = tmp_path / "leads-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(file.read_text() in argument for command in commands.values() for argument in command)
    token = ApiToken.objects.get(revoked_at=None)  # the one of the start before is worth nothing any more
    assert (token.scopes, token.queues) == (["pull", "report"], ["leads"])
