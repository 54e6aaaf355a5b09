"""The landing page shows the jobs at work."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs_app.definitions import JobDefinition
from jobs_app.models import Job
from jobs_app.registry import registry

pytestmark = [pytest.mark.django_db, pytest.mark.urls("jobsite.urls")]


@pytest.fixture(autouse=True)
def greet() -> JobDefinition:
    """The demo's jobs are known for the time of a test, not to the whole suite."""
    from jobsite import jobs

    for definition in vars(jobs).values():
        if isinstance(definition, JobDefinition):
            registry.register(definition.job_type)
    return jobs.greet


def test_the_page_lists_the_latest_runs(client: Client, greet: JobDefinition) -> None:
    greet.options(delay=60).enqueue(name="Ada")

    page = client.get("/").content.decode()

    assert '<span class="status scheduled">scheduled</span>' in page
    assert ">greet</a></td>" in page
    assert "Comes back every 15 seconds" in page


def test_the_page_needs_no_inline_code_so_any_content_security_policy_can_hold(client: Client) -> None:
    page = client.get("/").content.decode()

    assert "<script" not in page
    assert "<style" not in page
    assert "style=" not in page


def test_the_button_enqueues_one_more_round(client: Client, settings: pytest.FixtureRequest) -> None:
    settings.DEBUG = True

    assert client.post("/again/").status_code == 302
    assert set(Job.objects.values_list("job_type", flat=True)) == {
        "greet",
        "count-words",
        "call-shaky-service",
        "fetch-prices",
        "send-invoice",
        "find-shops",
    }


def test_outside_of_the_demo_there_is_no_button(client: Client) -> None:
    assert "<button" not in client.get("/").content.decode()
    assert client.post("/again/").status_code == 404
    assert not Job.objects.exists()
