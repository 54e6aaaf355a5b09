"""The items that remote workers reported for a run, page by page."""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs_app.lifecycle.database import pinned_reading
from jobs_app.models import JobItem

PER_PAGE = 50
NO_KEY = re.compile(r"[\x00\ud800-\udfff]")  # no database has a key with these, and some would not look for one


class ItemPage(NamedTuple):
    items: list[JobItem]  # in the order of their keys, which the primary key has
    after: str  # the next page has those after this key; empty: there are none


def page(connection: BaseDatabaseWrapper, run_id: UUID, *, after: str = "", limit: int = PER_PAGE) -> ItemPage:
    """So many of them, from the first one on or from those after a key."""
    if NO_KEY.search(after):
        return ItemPage([], "")
    rows = JobItem.objects.using(connection.alias).filter(job_id=run_id, key__gt=after).order_by("job_id", "key")
    with pinned_reading(connection):
        found = list(rows[: limit + 1])
    return ItemPage(found[:limit], found[limit - 1].key if len(found) > limit else "")
