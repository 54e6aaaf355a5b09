"""What the tests of the HTTP interface share: two tenants of one site, and a scraper with its work."""

from __future__ import annotations

from typing import Any

import pytest

from jobs_app import job
from jobs_app.definitions import JobDefinition
from tests.api import remote_jobs
from tests.api.speaking import Speaker
from tests.api.tenants import Site, open_site
from tests.worker.aside import SetAside

# Other processes import the module; here its types are known to the tests that ask for them.
TYPES = SetAside(remote_jobs)


@pytest.fixture
def jobs(registry_restored: None) -> Any:
    return TYPES.register()


@pytest.fixture
def site(db: None) -> Site:
    return open_site()


@pytest.fixture
def speaker(db: None) -> Speaker:
    """May do everything that a token can."""
    return Speaker()


@pytest.fixture
def scrape() -> JobDefinition[..., Any]:
    @job(queue="leads", preset="lease", remote=True, target="wanted")
    def scrape(city: str = "Bremen", wanted: int | None = None) -> None: ...

    return scrape
