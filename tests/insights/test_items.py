"""The items that remote workers reported for a run."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection

from jobs_app.insights import items
from jobs_app.models import JobItem
from tests.lifecycle.plans import plans_of

pytestmark = pytest.mark.django_db

RUN, OTHER = UUID(int=7), UUID(int=8)


def reported(run_id: UUID, *keys: str) -> None:
    JobItem.objects.bulk_create([JobItem(job_id=run_id, key=key, data={"of": key}) for key in keys])


def pages_of(run_id: UUID, *, limit: int) -> list[list[JobItem]]:
    page = items.page(connection, run_id, limit=limit)
    found = [page.items]
    while page.after:
        page = items.page(connection, run_id, after=page.after, limit=limit)
        found.append(page.items)
    return found


def test_they_are_read_page_by_page_in_the_order_of_their_keys() -> None:
    reported(RUN, "e", "b", "a", "d", "c")
    reported(OTHER, "a", "z")
    told = [[(item.key, item.data) for item in page] for page in pages_of(RUN, limit=2)]
    assert told == [[(key, {"of": key}) for key in part] for part in ("ab", "cd", "e")]


def test_just_as_many_as_a_page_has_are_one_page() -> None:
    reported(RUN, "a", "b")
    assert items.page(connection, RUN, limit=2).after == ""
    assert items.page(connection, RUN, after="b") == ([], "")
    assert items.page(connection, OTHER) == ([], "")


def test_a_key_may_be_any_text_and_none_is_lost_between_pages() -> None:
    keys = ["a\nb", "é", "%", "' OR 1=1 --", "Z", "z", "_", "日本"]
    reported(RUN, *keys)
    assert sorted(item.key for page in pages_of(RUN, limit=1) for item in page) == sorted(keys)


@pytest.mark.parametrize("after", ["\0", "a\0", "\ud800"])
def test_after_what_no_key_can_be_there_is_nothing(after: str) -> None:
    reported(RUN, "a")
    assert items.page(connection, RUN, after=after) == ([], "")


def test_a_page_costs_its_own_rows_whatever_the_statistics_say(is_postgres: bool) -> None:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells its plans")
    reported(RUN, *(f"{number:04}" for number in range(2000)))
    JobItem.objects.bulk_create([JobItem(job_id=uuid4(), key="k", data={}) for _ in range(300)])
    plans = plans_of(lambda: items.page(connection, RUN, after="0999", limit=20))
    assert plans.disorder() == []
    assert plans.sorted_rows() == 0
    assert plans.rows == 21
