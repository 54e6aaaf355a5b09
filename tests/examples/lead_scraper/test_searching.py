"""What a search finds, and how it ends."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from examples.lead_scraper.jobs import find_leads
from examples.lead_scraper.leads import store_leads
from examples.lead_scraper.models import Lead
from jobs_app.handles import RunHandle
from jobs_app.models import Job, JobRun
from tests.examples.lead_scraper.conftest import Searching
from tests.examples.lead_scraper.shelves import Shelves
from tests.lifecycle.rows import attempts_of, outcomes_of
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)

# What `python -m jobs_app.client` does; and at its end, whose modules it has needed.
CLIENT = """
import sys
from jobs_app.client.__main__ import main
code = main()
print("imported:", *sorted({name.partition(".")[0] for name in sys.modules} & {"django", "psycopg", "examples"}))
sys.exit(code)
"""


PAGES = {
    "Aachen": [["Cid", "Dan"]],
    "Bremen": [["Ann", "Bob", "Cid"], ["Dan", "Eve", "Flo", "Gus"], ["Hal"]],
    "Cadiz": [["Ida", "Joe"]],
}


def search(city: str, wanted: int | None = None) -> RunHandle:
    return find_leads.enqueue(trade="bakeries", city=city, wanted=wanted)


def ended(run: RunHandle) -> JobRun:
    return until(lambda: JobRun.objects.filter(pk=run.id).first(), seconds=60)


@pytest.mark.spec("A1.3", "S1.1", "S1.4", "S1.13", "S1.14", "S1.15", "S1.16", "S1.23", "S1.R5")
def test_a_search_ends_with_its_target_with_the_list_or_when_its_scraper_says_so(
    searching: Searching, shelves: Shelves, live: Callable[[], Job]
) -> None:
    shelves.pages = PAGES
    scraper = searching.start_scraper("-c", CLIENT)
    everything = ended(search("Aachen"))
    assert (everything.done_reason, everything.result, everything.result_count) == ("worker_done", {"pages": 1}, 2)

    shelves.hold(2)
    run = search("Bremen", wanted=5)
    until(lambda: ("Bremen", 2) in shelves.asked)
    assert (run.refresh().label, live().progress_count, live().result_count) == ("processing", 3, 2)  # Cid was known
    shelves.release(2)
    enough = ended(run)
    assert (run.refresh().label, enough.done_reason, enough.cursor) == ("done", "target_reached", "3")
    assert (enough.progress_count, enough.result_count) == (7, 5)
    [attempt] = attempts_of(run.id)
    assert (attempt.success, attempt.log_excerpt) == (True, "page 1 has 3 entries\npage 2 has 4 entries\n")
    assert not Job.objects.exists()  # and with it the lease is gone
    assert ("Bremen", 3) not in shelves.asked

    too_few = ended(search("Cadiz", wanted=5))
    assert (too_few.state, too_few.done_reason, too_few.result_count) == ("succeeded", "no_more_results", 2)

    assert scraper.end() == 0
    assert "imported: examples\n" in scraper.log()


@pytest.mark.spec("S1.16")
def test_a_scraper_that_is_told_to_stop_reports_its_page_and_gives_the_search_back(
    searching: Searching, shelves: Shelves, live: Callable[[], Job]
) -> None:
    shelves.hold(2)
    search("Bremen")
    scraper = searching.start_scraper()
    until(lambda: ("Bremen", 2) in shelves.asked)

    scraper.signal(signal.SIGTERM)
    scraper.wait_for_log("stopping")
    shelves.release(2)

    assert scraper.process.wait(60) == 0
    assert (live().state, live().attempts, live().free_attempts, live().cursor) == ("queued", 1, 1, "3")
    assert outcomes_of(live().pk) == ["interrupted"]


@pytest.mark.spec("S1.13")
def test_of_what_is_reported_only_the_new_ones_count() -> None:
    first, second = (search("Bremen").id for _ in range(2))
    found = {name: {"name": name, "trade": "bakeries", "city": "Bremen"} for name in ("Ann", "Bob", "Cid")}

    assert store_leads(first, {"Bob": found["Bob"]}) == 1
    assert [store_leads(second, found), store_leads(second, found)] == [2, 0]
    assert dict(Lead.objects.values_list("phone", "run_id")) == {"Ann": second, "Bob": first, "Cid": second}
