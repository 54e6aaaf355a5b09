"""A search, as the site asks for it. Who does it is elsewhere: `scraper.py`, on hosts without Django."""

from __future__ import annotations

from typing import Annotated

import environ

from examples.lead_scraper.leads import store_leads
from examples.pace import minutes
from jobs_app import Backoff, job

DIRECTORY_URL: str = environ.Env().str("DIRECTORY_URL", default="http://127.0.0.1:8104/")


@job(
    name="find-leads",
    queue="leads",
    preset="lease",
    remote=True,
    subject="city",
    target="wanted",
    sink=store_leads,
    # The preset's own, where a minute is one. A server grants half a minute at least.
    lease=minutes(3),
    backoff=Backoff(base=minutes(0.5), cap=minutes(60), jitter="add", jitter_ratio=0.2, exponent="attempts"),
)
def find_leads(
    trade: Annotated[str, "Such as bakeries, florists or tailors."],
    city: str,
    wanted: Annotated[int | None, "Enough when so many are found that nobody found before; empty: all."] = None,
    directory: Annotated[str, "Where to look."] = DIRECTORY_URL,
) -> None:
    """Reads a directory page by page, until enough leads are found or the list ends. The worker that pulls it is given
    all of this, and needs no settings of its own."""
