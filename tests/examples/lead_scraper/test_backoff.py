"""How long a search waits that failed, and how often it is tried."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from examples.lead_scraper.jobs import find_leads
from jobs_app.models import Job, JobRun
from tests.examples.lead_scraper.conftest import Searching
from tests.examples.lead_scraper.shelves import Shelves
from tests.lifecycle.rows import attempts_of
from tests.waiting import until

TABLE = [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]  # seconds, by attempts


@pytest.mark.spec("A1.1", "S1.18", "S1.19", "S1.20")
def test_the_waits_of_a_search_are_those_of_the_table_and_at_most_a_fifth_more() -> None:
    backoff = find_leads.job_type.backoff
    assert [backoff.delay_after(attempts, lambda: 0.0) for attempts in range(9)] == TABLE
    for attempts, least in enumerate(TABLE):
        drawn = [backoff.delay_after(attempts) for _ in range(1000)]
        assert least <= min(drawn) < max(drawn) <= 1.2 * least
        assert max(drawn) - min(drawn) > 0.1 * least


@pytest.mark.spec("A1.2", "S1.2", "S1.5", "S1.17", "S1.18", "S1.21", "S1.22", "S1.23", "S1.24", "S1.R1", "S1.R2")
@pytest.mark.django_db(transaction=True)
def test_a_search_in_a_directory_that_is_down_is_tried_five_times_and_never_again(
    searching: Searching, shelves: Shelves, live: Callable[[], Job]
) -> None:
    shelves.is_down = True
    run = find_leads.enqueue(trade="bakeries", city="Bremen")
    due = [timezone.now()]
    searching.clock.put(due[0])
    searching.start_scraper()

    for number in range(1, 5):
        until(lambda: (live().state, len(attempts_of(run.id))) == ("queued", number))  # noqa: B023
        waiting = live()
        assert (waiting.attempts, waiting.last_error) == (number, "HTTP Error 503: Service Unavailable")
        assert searching.finds_nothing("another", waiting.run_at - timedelta(seconds=1))
        due.append(waiting.run_at)
        searching.clock.put(due[-1])

    failed = until(lambda: JobRun.objects.filter(pk=run.id).first())
    waits = [(later - earlier).total_seconds() for earlier, later in pairwise(due)]
    assert all(low <= wait <= 1.2 * low for wait, low in zip(waits, (60, 120, 240, 480), strict=True))
    assert (failed.state, failed.done_reason, failed.attempts) == ("failed", "exhausted", 5)
    tried = attempts_of(run.id)
    assert [(each.number, each.outcome, each.success) for each in tried] == [(n, "error", False) for n in range(1, 6)]
    assert [each.started_at for each in tried] == due
    assert all("urllib.error.HTTPError" in each.log_excerpt for each in tried)
    assert searching.finds_nothing("another", due[-1] + timedelta(days=30))
    assert len(shelves.asked) == 5
