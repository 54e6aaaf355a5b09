"""What a host without Django does: `python -m jobs_app.client --url ... --queues shops jobsite.remote:find_shops`."""

from __future__ import annotations

import time
from typing import Any

SHOPS_PER_PAGE = 4
PAGE_SECONDS = 1.0


def find_shops(job: Any) -> None:
    """A page of a made-up directory each second, from where the last worker was, until enough shops are found."""
    page = int(job.cursor or 0)
    while True:
        time.sleep(PAGE_SECONDS)
        page += 1
        names = [f"{job.payload['city']} {page}.{number}" for number in range(1, SHOPS_PER_PAGE + 1)]
        job.log(f"read page {page}")
        job.report({name: {"name": name, "page": page} for name in names}, cursor=str(page), message=f"page {page}")
