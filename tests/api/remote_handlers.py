"""Handlers of a host without Django: `python -m jobs_app.client ... tests.api.remote_handlers:scrape`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.api.ledger import note


def scrape(job: Any) -> dict[str, int]:
    """Pages of three leads each, from the cursor on; at `stop_at` it waits for a gate to open."""
    assert "django" not in sys.modules
    first = int(job.cursor or 0) + 1
    for page in range(first, job.payload["pages"] + 1):
        if page == job.payload["stop_at"] and not Path(os.environ["GATE"]).exists():
            note("waits", job=job.job_id, page=page)
            while not Path(os.environ["GATE"]).exists():
                time.sleep(0.02)
        note("page", job=job.job_id, page=page, attempt=job.attempt)
        job.report({f"lead {page}.{number}": {"page": page} for number in range(3)}, cursor=str(page))
    return {"pages": job.payload["pages"]}


def scrape_at_once(job: Any) -> None:
    """More than one report holds, in one call."""
    job.report({f"lead {number}": {"text": "\N{SNOWMAN}" * 100} for number in range(2500)}, cursor="all")


def share(job: Any) -> None:
    note("remote", job=job.job_id, number=job.payload["number"])


def fail(job: Any) -> None:
    raise ConnectionError(f"attempt {job.attempt} of {job.max_attempts}")
