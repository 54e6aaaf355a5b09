"""Jobs for remote workers, and some that local ones take too."""

from __future__ import annotations

from jobs_app import current_job, job
from tests.api.ledger import note


@job(queue="leads", preset="lease", remote=True, target="wanted")
def scrape(pages: int = 3, stop_at: int = 0, wanted: int | None = None) -> None:
    """Its handler is `tests.api.remote_handlers.scrape`, elsewhere."""


@job(queue="shared")
def share(number: int) -> None:
    note("local", job=str(current_job().id), number=number)
