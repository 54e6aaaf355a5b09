"""A site that asks for leads, a directory to look in, and scrapers that know the site by its address and a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from jobs_app.client import JobsClient
from jobs_app.lifecycle import control
from jobs_app.models import Job
from tests.examples.lead_scraper.clock import Clock
from tests.examples.lead_scraper.shelves import Shelves
from tests.examples.served import served
from tests.examples.site import Program, Site

HANDLER = "examples.lead_scraper.scraper:find_leads"


class Searching:
    """A web server whose clock may be moved on, and those who pull from it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.clock = Clock(site.folder / "clock")
        script = ("-m", "tests.examples.lead_scraper.clock", str(self.clock.file))
        self.url = f"{site.start_web(script=script)}/jobs/"
        made = control.create_token("scrapers", "ann", scopes=["pull", "report"], queues=["leads"])
        self.token = made.text
        self.hand = JobsClient(self.url, made.text)  # single calls of a worker, as a test makes them

    def start_scraper(self, *start: str) -> Program:
        """A process as on another host: `python -m jobs_app.client`, or another start of the same."""
        about = ("--url", self.url, "--queues", "leads", "--wait", "2", "-v", HANDLER)
        return self.site.start(*(start or ("-m", "jobs_app.client")), *about, JOBS_TOKEN=self.token)

    def finds_nothing(self, worker: str, at: datetime) -> bool:
        """Does a worker that looks at this moment get no job?"""
        self.clock.put(at)
        return self.hand.pull(worker, queues=["leads"])["job"] is None


@pytest.fixture
def shelves() -> Iterator[Shelves]:
    shelves = Shelves()
    with served(shelves.answer) as shelves.url:
        yield shelves


@pytest.fixture
def searching(make_site: Callable[..., Site], shelves: Shelves) -> Iterator[Searching]:
    searching = Searching(make_site("lead_scraper", DIRECTORY_URL=shelves.url))
    yield searching
    searching.hand.close()


@pytest.fixture
def live() -> Callable[[], Job]:
    """The one search that waits or runs, as it is now."""
    return lambda: Job.objects.get(job_type="find-leads")
