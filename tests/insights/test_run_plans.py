"""How PostgreSQL reads a list of runs: by the index, in its order, as many rows as are shown, whatever the history."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from uuid import UUID

import pytest
from django.db import connection

from jobs_app.insights import run_keys, run_list, stale, subjects, throughput
from jobs_app.insights.failures import failures
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_order import Key
from jobs_app.insights.run_statistics import statistics
from tests.lifecycle.plans import Plans, plans_of
from tests.lifecycle.rows import T, at
from tests.lifecycle.test_plans import run

SIZE = 10
COUNTS = [3_000, 20_000]
OLD = UUID(int=0x7000 << 64 | 0x8000 << 48 | 3_000)

# Three types, fifty subjects, twenty schedules, two queues; one of a hundred failed, all with the class of its error.
# Ten share each moment.
HISTORY = """
INSERT INTO jobs_app_jobrun (id, state, job_type, queue, subject, priority, run_at, queued_at, started_at, finished_at,
                             attempts, max_attempts, payload, meta, schedule, parent)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       CASE WHEN n %% 100 = 0 THEN 'failed' ELSE 'succeeded' END, 'work-' || n %% 3,
       CASE WHEN n %% 1000 = 500 THEN 'rare' ELSE 'default' END, 'subject-' || n %% 50, 0,
       {at}, {at}, {at}, {at}, 1, 5, '{{}}', '{{}}', n %% 20,
       CASE WHEN n %% 500 = 0 THEN ('00000000-0000-7000-8000-' || lpad(to_hex(n - 100), 12, '0'))::uuid END
  FROM generate_series(1, %(count)s) AS n
"""
ATTEMPTS = """
INSERT INTO jobs_app_jobattempt (job_id, number, token, worker_id, finished_at, outcome, success, error_class)
SELECT id, 1, id, 'w', finished_at, 'error', false, 'Timeout' FROM jobs_app_jobrun WHERE state = 'failed'
"""
LIVE = """
INSERT INTO jobs_app_job (id, state, job_type, queue, priority, run_at, queued_at, max_attempts, payload, meta)
SELECT ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 'queued', 'work-1', 'default', 0,
       {at}, {at}, 5, '{{}}', '{{}}'
  FROM generate_series(1, %(count)s) AS n
"""
BEFORE = "%(now)s - (%(count)s - n / 10 * 10) * interval '1 second'"


@pytest.fixture(params=["never analysed", "analysed"])
def history(request: pytest.FixtureRequest, db: None, is_postgres: bool) -> Callable[[int], None]:
    if not is_postgres:
        pytest.skip("only PostgreSQL tells how it reads")

    def fill(count: int) -> None:
        run(HISTORY.format(at=BEFORE), {"now": T, "count": count})
        run(ATTEMPTS, {})
        if request.param == "analysed":
            run("ANALYZE jobs_app_jobrun")
            run("ANALYZE jobs_app_jobattempt")

    return fill


def plans_of_page(chosen: RunFilter, older: Key | None = None, newer: Key | None = None) -> Plans:
    def read() -> None:
        page = run_list.page(connection, chosen, older=older, newer=newer, size=SIZE)
        assert len(page.runs) == SIZE

    with at(0):
        return plans_of(read)


def middle(count: int) -> Key:
    return Key(T - timedelta(seconds=count / 2), UUID(int=0x7000 << 64 | 0x8000 << 48 | count // 2))


INDEXES = {
    "jobs_app_run_newest": {},
    "jobs_app_run_type_newest": {"job_type": "work-1"},
    "jobs_app_run_subject": {"subject": "subject-7"},
    "jobs_app_run_failed": {"state": "failed"},
    "jobs_app_run_schedule": {"schedule": 7},
}


@pytest.mark.parametrize("count", COUNTS)
def test_a_page_is_read_by_the_index_and_reads_what_it_shows(count: int, history: Callable[[int], None]) -> None:
    history(count)
    for (index, chosen), way in product(INDEXES.items(), ["first", "older", "newer"]):
        place = {} if way == "first" else {way: middle(count)}
        plans = plans_of_page(RunFilter(window="all", **chosen), **place)  # type: ignore[arg-type]
        assert index in plans.indexes(), way
        assert plans.disorder() == [], (index, way)
        # Its keys and one more, the runs themselves, and the classes of their errors.
        assert plans.rows <= 4 * (SIZE + 1), (index, way)


def test_what_was_common_once_is_not_looked_for_among_all_that_came_since(history: Callable[[int], None]) -> None:
    """Statistics say that a third is of this type; they do not say that the last was long ago."""
    history(9_000)
    run("UPDATE jobs_app_jobrun SET job_type = 'gone', subject = 'gone', schedule = 99 WHERE id < %(id)s", {"id": OLD})
    run("ANALYZE jobs_app_jobrun")
    for chosen in ({"job_type": "gone"}, {"subject": "gone"}, {"schedule": 99}):
        plans = plans_of_page(RunFilter(window="all", **chosen))  # type: ignore[arg-type]
        assert plans.disorder() == [], chosen
        assert plans.rows <= 4 * (SIZE + 1), chosen


@pytest.mark.parametrize("count", COUNTS)
def test_a_filter_without_an_index_reads_until_it_has_a_page(count: int, history: Callable[[int], None]) -> None:
    history(count)
    for chosen in (
        {"state": "succeeded"},
        {"queue": "default", "job_type": "work-1"},
        {"state": "failed", "job_type": "work-1"},
        {"attempts": "", "longer": None, "q": "subject-"},
    ):
        plans = plans_of_page(RunFilter(window="all", **chosen))  # type: ignore[arg-type]
        assert plans.disorder() == [], chosen
        assert plans.rows <= 12 * SIZE, chosen


@pytest.mark.parametrize("count", COUNTS)
def test_what_is_open_is_found_by_the_index_of_failures_and_that_of_parents(
    count: int, history: Callable[[int], None]
) -> None:
    history(count)
    for chosen in ({}, {"error": "Timeout"}):
        plans = plans_of_page(RunFilter(window="all", open=True, **chosen))  # type: ignore[arg-type]
        assert {"jobs_app_run_failed", "jobs_app_run_parent", "jobs_app_job_parent"} <= plans.indexes()
        assert plans.disorder() == []
        assert plans.rows <= 10 * SIZE


def test_a_search_looks_at_so_many_rows_and_no_more(
    history: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_keys, "MOST_ROWS", 500)
    history(10_000)
    with at(0):
        plans = plans_of(lambda: run_list.page(connection, RunFilter(window="all", q="nowhere"), size=SIZE))
        counted = plans_of(lambda: run_list.count(connection, RunFilter(window="all", q="nowhere")))
    assert plans.disorder() == counted.disorder() == []
    assert plans.rows <= 2 * 500  # once to search, once to tell how far it got
    assert counted.rows <= 2 * 501


def test_counts_statistics_and_failures_read_a_bounded_part(history: Callable[[int], None]) -> None:
    history(20_000)
    chosen = RunFilter(window="all")
    with at(0):
        counted = plans_of(lambda: run_list.count(connection, chosen, most=100))
        shares = plans_of(lambda: statistics(connection, chosen, most=100))
        failed = plans_of(lambda: failures(connection, chosen, most=50))
    assert counted.disorder() == shares.disorder() == failed.disorder() == []
    assert counted.rows <= 2 * 101
    assert shares.rows <= 2 * 101
    assert failed.rows <= 5 * 51


@pytest.mark.parametrize("state", ["running", "", "waiting"])
def test_a_backlog_is_read_by_id_and_what_runs_by_its_lease(
    state: str, history: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_keys, "MOST_ROWS", 200)
    history(100)
    run(LIVE.format(at=BEFORE), {"now": T, "count": 5_000})
    with at(0):
        plans = plans_of(lambda: run_list.page(connection, RunFilter(state=state), size=SIZE))
    assert plans.disorder() == []
    assert plans.rows <= (0 if state == "running" else 2 * 201 + 5 * SIZE)
    assert ("jobs_app_job_lease" in plans.indexes()) is (state == "running")


@pytest.mark.parametrize(
    ("read", "index"),
    [
        (lambda: stale.lost_attempts(connection, T), "jobs_app_jobattempt_pkey"),
        (lambda: stale.done_by_itself(connection, T), "jobs_app_event_at"),
        (lambda: subjects.page(connection), "jobs_app_run_newest"),
        (lambda: subjects.page(connection), "jobs_app_run_failed"),
        (lambda: throughput.last_hour(connection, T), "jobs_app_sample_at"),
        (lambda: throughput.of_queues(connection, T), "jobs_app_sample_at"),
    ],
)
def test_what_other_pages_read_of_the_newest_is_read_by_the_index_that_has_it(
    read: Callable[[], object], index: str, history: Callable[[int], None]
) -> None:
    history(3_000)
    with at(0):
        assert index in plans_of(read).indexes()
