"""Many scrapers at once: each search is one scraper's, and each report counts once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from examples.lead_scraper.jobs import find_leads
from examples.lead_scraper.models import Lead
from jobs_app.models import Job, JobRun
from tests.examples.lead_scraper.conftest import Searching
from tests.examples.lead_scraper.shelves import Shelves
from tests.lifecycle.rows import outcomes_of
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SCRAPERS, SEARCHES = 2, 8


@pytest.mark.spec("A1.5", "S1.8", "S1.11", "S1.R4")
def test_of_two_pulls_at_once_one_has_the_search_and_the_same_report_twice_counts_once(searching: Searching) -> None:
    for _ in range(3):
        run = find_leads.enqueue(trade="bakeries", city="Bremen")
        with ThreadPoolExecutor(2) as both:
            [won] = filter(None, both.map(lambda name: searching.hand.pull(name)["job"], ("first", "second")))
        assert won["job_id"] == str(run.id)

        ann = {"key": str(run.id), "data": {"name": "Ann", "trade": "bakeries", "city": "Bremen"}}
        said = {"items": [ann], "cursor": "2", "idempotency_key": "page 1"}
        with ThreadPoolExecutor(2) as both:
            told = list(both.map(lambda _: searching.hand.report(won["job_id"], won["token"], **said), range(2)))  # noqa: B023
        assert sorted((answer["added"], answer["idempotent"]) for answer in told) == [(1, False), (1, True)]
        job = Job.objects.get(pk=run.id)
        assert (job.progress_count, job.result_count, job.attempts) == (1, 1, 1)
        searching.hand.report(won["job_id"], won["token"], done=True)
    assert Lead.objects.count() == 3


@pytest.mark.spec("S1.13")
def test_two_searches_that_find_the_same_at_once_count_each_lead_once(searching: Searching) -> None:
    find_leads.enqueue_many([{"trade": "bakeries", "city": "Bremen"}] * 2)
    pulled = [searching.hand.pull(name)["job"] for name in ("first", "second")]
    names = [f"Baker {number}" for number in range(200)]
    found = [{"key": name, "data": {"name": name, "trade": "bakeries", "city": "Bremen"}} for name in names]

    def report(job: dict[str, Any], items: list[dict[str, Any]]) -> int:
        return searching.hand.report(job["job_id"], job["token"], items=items)["added"]

    with ThreadPoolExecutor(2) as both:
        added = list(both.map(report, pulled, (found, found[::-1])))

    assert sum(added) == Lead.objects.count() == 200
    assert [Lead.objects.filter(run_id=job["job_id"]).count() for job in pulled] == added


@pytest.mark.spec("A1.5", "S1.8")
def test_two_scrapers_read_every_page_once(searching: Searching, shelves: Shelves) -> None:
    cities = [f"City {number}" for number in range(SEARCHES)]
    shelves.pages = {city: [[f"{city} {name}"] for name in ("Ann", "Bob")] for city in cities}
    runs = find_leads.enqueue_many([{"trade": "bakeries", "city": city} for city in cities])
    for _ in range(SCRAPERS):
        searching.start_scraper()

    until(lambda: JobRun.objects.filter(state="succeeded").count() == SEARCHES, seconds=60)

    assert [outcomes_of(UUID(str(run.id))) for run in runs] == [["success"]] * SEARCHES
    assert Counter(shelves.asked) == Counter((city, page) for city in cities for page in (1, 2, 3))
    assert Lead.objects.count() == 2 * SEARCHES
