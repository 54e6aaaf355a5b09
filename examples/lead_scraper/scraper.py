"""What a host without Django does:

python -m jobs_app.client --url http://127.0.0.1:8000/jobs/ --queues leads examples.lead_scraper.scraper:find_leads
"""

from __future__ import annotations

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from jobs_app.client import Permanent, Release, RemoteJob

PAGE_SECONDS = 30  # for one page, at most


def find_leads(job: RemoteJob) -> dict[str, int]:
    """One page after the other, each reported at once with the number of the next: whoever goes on reads none twice.

    Nothing here asks whether enough are found: `report` does not return from the page that reaches the target."""
    page = int(job.cursor or 1)
    while entries := read_page(job, page):
        job.log(f"page {page} has {len(entries)} entries")
        page += 1
        job.report({entry["phone"]: entry for entry in entries}, cursor=str(page), message=f"page {page} is next")
        if job.stopping:
            raise Release
    return {"pages": page - 1}


def read_page(job: RemoteJob, page: int) -> list[dict[str, Any]]:
    """Its entries; none where the list has ended. A page that is broken now may be whole at the next attempt."""
    asked = urlencode({"trade": job.payload["trade"], "city": job.payload["city"], "page": page})
    try:
        with urlopen(f"{job.payload['directory']}listing?{asked}", timeout=job.remaining(limit=PAGE_SECONDS)) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
    except HTTPError as error:
        if error.code == 404:
            raise Permanent(f"the directory knows no {job.payload['trade']}") from None
        raise
    return entries
