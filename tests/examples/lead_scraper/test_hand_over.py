"""A scraper that is frozen, killed or cut off loses its search, and another goes on from its page."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from examples.lead_scraper.jobs import find_leads
from examples.lead_scraper.models import Lead
from jobs_app.client import LeaseLost
from jobs_app.lifecycle import control
from jobs_app.models import Job, JobRun, WorkerState
from tests.examples.lead_scraper.conftest import Searching
from tests.examples.lead_scraper.shelves import Shelves
from tests.lifecycle.rows import attempts_of, outcomes_of, tables
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = timedelta(seconds=1)


def entry(name: str) -> dict[str, Any]:
    return {"key": name, "data": {"name": name, "trade": "bakeries", "city": "Bremen"}}


@pytest.mark.spec("A1.4", "S1.3", "S1.7", "S1.8", "S1.9", "S1.10", "S1.14", "S1.R1", "S1.R3", "S1.R7")
def test_a_silent_scrapers_search_is_anothers_when_its_lease_is_over(
    searching: Searching, live: Callable[[], Job]
) -> None:
    run = find_leads.enqueue(trade="bakeries", city="Bremen")
    began, hand = timezone.now(), searching.hand
    searching.clock.put(began)
    first = hand.pull("first")["job"]
    claimed = live()
    assert (claimed.state, claimed.attempts, str(claimed.token)) == ("running", 1, first["token"])
    assert (first["lease_sec"], claimed.lease_expires_at) == (180, began + 180 * SECOND)
    assert searching.finds_nothing("second", began + 99 * SECOND)

    searching.clock.put(began + 100 * SECOND)
    hand.report(first["job_id"], first["token"], items=[entry("Ann")], cursor="3", extend_lease_sec=120)
    reported = live()
    assert (reported.progress_count, reported.result_count, reported.cursor) == (1, 1, "3")
    assert (reported.last_progress_at, reported.lease_expires_at) == (began + 100 * SECOND, began + 220 * SECOND)
    assert searching.finds_nothing("second", began + 179 * SECOND)
    assert searching.finds_nothing("second", began + 219 * SECOND)

    searching.clock.put(began + 221 * SECOND)
    second = until(lambda: hand.pull("second")["job"])
    assert (second["job_id"], second["attempt"], second["cursor"]) == (str(run.id), 2, "3")
    before = tables()
    for late in ({"done": True}, {"error": "late"}, {"items": [entry("Late")], "cursor": "9"}):
        with pytest.raises(LeaseLost, match="stale"):
            hand.report(first["job_id"], first["token"], **late)
    assert tables() == before
    assert list(Lead.objects.values_list("name", flat=True)) == ["Ann"]

    assert hand.report(second["job_id"], second["token"], done=True)["state"] == "succeeded"
    lost, won = attempts_of(run.id)
    assert [(each.outcome, each.worker_id.partition("@")[0]) for each in (lost, won)] == [
        ("lost", "first"),
        ("success", "second"),
    ]
    assert [lost.started_at, won.started_at] == [began, began + 221 * SECOND]


@pytest.mark.spec("A1.4", "S1.2", "S1.4", "S1.8", "S1.9", "S1.16", "S1.R3", "S1.R5", "S1.R9")
def test_after_a_frozen_and_a_killed_scraper_no_page_is_missing_and_no_lead_is_there_twice(
    searching: Searching, shelves: Shelves, live: Callable[[], Job]
) -> None:
    run = find_leads.enqueue(trade="bakeries", city="Bremen", wanted=30)
    shelves.hold(3, 5, 7)
    searching.clock.put(timezone.now())
    first = searching.start_scraper()
    until(lambda: shelves.times_asked(3))
    second = searching.start_scraper()
    until(lambda: WorkerState.objects.filter(kind="remote").count() == 2)
    reports_are_taken_while_everything_is_paused(searching, shelves)
    assert (live().attempts, live().cursor, live().target_count) == (1, "5", 30)

    first.signal(signal.SIGSTOP)
    searching.clock.put(live().lease_expires_at + SECOND)
    until(lambda: shelves.times_asked(5) == 2)
    shelves.release(5)
    until(lambda: shelves.times_asked(7))
    before = tables()
    first.signal(signal.SIGCONT)  # the page that it waited for is there, and it reports what is on it
    first.wait_for_log("lost its lease: dropped")
    assert tables() == before
    assert (live().attempts, live().cursor) == (2, "7")

    second.kill()
    lost_at = live().lease_expires_at + SECOND
    searching.clock.put(lost_at)
    until(lambda: live().state == "queued")
    assert 120 <= (live().run_at - lost_at).total_seconds() <= 144  # a first loss is due at once, a second is not
    searching.clock.put(live().run_at)
    until(lambda: shelves.times_asked(7) == 2)
    shelves.release(7)
    nothing_is_missing(until(lambda: JobRun.objects.filter(pk=run.id).first()), shelves)


def reports_are_taken_while_everything_is_paused(searching: Searching, shelves: Shelves) -> None:
    control.pause("all", "", "ann")
    until(lambda: searching.hand.pull("third") == {"job": None, "reason": "paused", "stopped": True})
    shelves.release(3)
    until(lambda: shelves.times_asked(5))
    assert Lead.objects.count() == 17
    control.resume("all", "", "ann")


def nothing_is_missing(run: JobRun, shelves: Shelves) -> None:
    assert (run.state, run.done_reason, run.attempts) == ("succeeded", "target_reached", 3)
    assert outcomes_of(run.pk) == ["lost", "lost", "success"]
    assert [page for _, page in shelves.asked] == [1, 2, 3, 4, 5, 5, 6, 7, 7, 8]
    # Two found as their first entry the last one of the page before, which they had not sent themselves.
    assert (run.progress_count, run.result_count) == (35, 33)
    assert Lead.objects.filter(run_id=run.pk).count() == 33
