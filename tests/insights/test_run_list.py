"""One list of live and finished runs: pages that lose nothing and show nothing twice, and numbers that are right."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.insights import run_keys, run_list
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_list import Counted, RunPage
from jobs_app.insights.run_order import Key
from jobs_app.insights.run_statistics import statistics
from jobs_app.models import Job, JobRun
from tests.insights.run_rows import ago, attempt, ended, running, waiting
from tests.lifecycle.rows import T, at

ALL = RunFilter(window="all")


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


def ids(page: RunPage) -> list[UUID]:
    return [run.pk for run in page.runs]


def walk(chosen: RunFilter = ALL, size: int = 3) -> tuple[list[UUID], list[RunPage]]:
    """From the newest to the oldest."""
    pages = [run_list.page(connection, chosen, size=size)]
    while pages[-1].older is not None:
        pages.append(run_list.page(connection, chosen, older=pages[-1].older, size=size))
    return [run_id for page in pages for run_id in ids(page)], pages


def walk_back(pages: list[RunPage], chosen: RunFilter = ALL, size: int = 3) -> list[UUID]:
    """From the last page to the first, by the links to newer ones."""
    page, seen = pages[-1], ids(pages[-1])[::-1]
    while page.newer is not None:
        page = run_list.page(connection, chosen, newer=page.newer, size=size)
        seen += [run_id for run_id in ids(page)[::-1] if run_id not in seen]
    return seen


def in_order() -> list[UUID]:
    keys = [*Job.objects.values_list("queued_at", "id"), *JobRun.objects.values_list("queued_at", "id")]
    return [run_id for _, run_id in sorted(keys, reverse=True)]


@pytest.mark.django_db
@pytest.mark.spec("S2.28")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
def test_pages_lose_nothing_and_show_nothing_twice_where_live_and_finished_runs_share_their_moment(size: int) -> None:
    for number in range(12):
        moment = T - timedelta(microseconds=number // 4)
        (waiting if number % 2 else ended)(moment)
    seen, pages = walk(size=size)
    assert seen == in_order()
    assert walk_back(pages, size=size) == seen[::-1]


@pytest.mark.django_db
@pytest.mark.parametrize("chosen", [ALL, RunFilter(schedule=7), RunFilter(state="live", order="due")])
def test_every_order_is_walked_in_both_directions(chosen: RunFilter) -> None:
    for number in range(7):
        moment = ago(minutes=number // 2)
        waiting(moment, run_at=ago(minutes=number % 3), schedule=7)
        if chosen.order != "due":
            ended(moment, schedule=7)
    seen, pages = walk(chosen)
    assert len(seen) == len(set(seen)) == (7 if chosen.order == "due" else 14)
    assert walk_back(pages, chosen) == seen[::-1]


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), size=st.integers(1, 5))
@pytest.mark.django_db(transaction=False)
def test_pages_are_right_whatever_there_is(rows: list[tuple[int, bool]], size: int) -> None:
    Job.objects.all().delete()
    JobRun.objects.all().delete()
    for second, is_live in rows:
        (waiting if is_live else ended)(ago(seconds=second))
    seen, pages = walk(size=size)
    assert seen == in_order()
    assert walk_back(pages, size=size) == seen[::-1]


@pytest.mark.django_db
def test_what_comes_or_ends_while_somebody_turns_pages_moves_nothing() -> None:
    first = [waiting(ago(minutes=number)) for number in range(6)]
    page = run_list.page(connection, ALL, size=3)
    waiting(T)
    Job.objects.filter(pk=first[4]).delete()
    ended(ago(minutes=4), id=first[4])
    assert ids(run_list.page(connection, ALL, older=page.older, size=3)) == first[3:]


@pytest.mark.django_db
def test_a_run_that_ends_while_the_page_is_read_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Live runs are read first: the other way round it would be in neither."""
    run_id = waiting(T)
    read = run_keys.Reading.keys

    def end_in_between(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = read(self, *args, **kwargs)
        if self.model is Job:
            ended(T, id=run_id)
        return found

    monkeypatch.setattr(run_keys.Reading, "keys", end_in_between)
    page = run_list.page(connection, ALL)
    assert {run.pk for run in page.runs} == {run_id}


@pytest.mark.django_db
def test_the_newest_page_is_full_also_for_who_comes_from_an_older_one() -> None:
    for number in range(4):
        ended(ago(minutes=number))
    older = run_list.page(connection, ALL, older=run_list.page(connection, ALL, size=1).older, size=3)
    assert older.newer is not None
    page = run_list.page(connection, ALL, newer=older.newer, size=3)
    assert ids(page) == in_order()[:3]
    assert page.newer is None


@pytest.mark.django_db
def test_large_columns_are_not_read_and_the_class_of_the_last_error_is() -> None:
    run_id = ended(state="failed", attempts=2)
    attempt(run_id, 1, "First")
    attempt(run_id, 2, "Last")
    waiting(ago(minutes=1))
    last, other = run_list.page(connection, ALL).runs
    assert {"payload", "meta", "result"} <= last.get_deferred_fields()
    assert (last.error_class, other.error_class) == ("Last", None)  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_a_place_is_text_in_an_address_and_comes_back_to_the_microsecond() -> None:
    key = Key(T + timedelta(microseconds=1), UUID(int=7))
    assert Key.read(str(key)) == key
    for wrong in ("", "x", "1", "1.x", f"{'9' * 30}.{key.id.hex}", f"x.{key.id.hex}"):
        with pytest.raises(ValueError, match="no place in the list"):
            Key.read(wrong)


@pytest.fixture
def looks_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_keys, "MOST_ROWS", 4)


@pytest.mark.django_db
@pytest.mark.usefixtures("looks_at_few")
def test_what_no_index_has_is_searched_part_by_part_and_each_part_says_how_far_it_got() -> None:
    moments = [ago(minutes=number) for number in range(10)]
    for number, moment in enumerate(moments):
        ended(moment, queue="rare" if number in (1, 9) else "default")
    chosen = RunFilter(queue="rare", window="all")
    seen, pages = walk(chosen)
    assert seen == list(JobRun.objects.filter(queue="rare").order_by("-queued_at").values_list("pk", flat=True))
    assert [page.searched_to for page in pages] == [moments[3], moments[7], None]
    assert [len(page.runs) for page in pages] == [1, 0, 1]
    assert run_list.count(connection, chosen) == Counted(1, is_capped=True)
    assert walk_back(pages, chosen) == seen[::-1]


@pytest.mark.django_db
@pytest.mark.usefixtures("looks_at_few")
def test_a_live_run_beyond_the_part_that_was_searched_waits_for_its_turn() -> None:
    for number in range(6):
        ended(ago(minutes=number))
    live, finished = waiting(ago(minutes=5.5), queue="rare"), ended(ago(minutes=5), queue="rare")
    chosen = RunFilter(queue="rare", window="all")
    seen, pages = walk(chosen)
    assert seen == [finished, live]
    assert ids(pages[0]) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("looks_at_few")
def test_an_index_needs_no_search() -> None:
    for number in range(10):
        ended(ago(minutes=number), state="failed", subject="acme", queue="jobs.system", schedule=7)
    for chosen in ({"subject": "acme"}, {"state": "failed"}, {"job_type": "work"}, {"schedule": 7}):
        found = RunFilter(queue="", window="all", **chosen)  # type: ignore[arg-type]
        pages = walk(found, size=20)[1]
        is_searched = not found.has_chores  # what is of the app's own is left out by a search
        assert (pages[0].searched_to is not None) is is_searched


@pytest.mark.django_db
@pytest.mark.usefixtures("looks_at_few")
def test_too_many_live_runs_are_cut_and_the_page_says_so() -> None:
    for number in range(5):
        waiting(ago(minutes=number))
    page = run_list.page(connection, ALL)
    assert (len(page.runs), page.is_cut) == (4, True)
    assert run_list.count(connection, ALL) == Counted(4, is_capped=True)
    Job.objects.filter(pk=page.runs[0].pk).delete()
    page = run_list.page(connection, ALL)
    assert (len(page.runs), page.is_cut) == (4, False)


@pytest.mark.django_db
def test_a_count_is_exact_up_to_its_limit() -> None:
    for _ in range(3):
        waiting()
        ended()
    assert run_list.count(connection, ALL, most=6) == Counted(6)
    assert run_list.count(connection, ALL, most=5) == Counted(5, is_capped=True)
    assert run_list.count(connection, RunFilter(state="failed")) == Counted(0)


@pytest.mark.django_db
@pytest.mark.spec("S4.19")
def test_what_waits_is_listed_by_when_it_is_due() -> None:
    later = waiting(run_at=T + timedelta(hours=2), attempts=1)
    soon = waiting(ago(hours=1), run_at=T + timedelta(hours=1), attempts=1)
    first = waiting(ago(days=3), run_at=ago(days=3))
    running()
    ended()
    assert walk(RunFilter(state="waiting", order="due"))[0] == [first, soon, later]
    assert walk(RunFilter(state="retrying", order="due"))[0] == [soon, later]
    assert walk(RunFilter(state="retrying"))[0] == [later, soon]


@pytest.mark.django_db
@pytest.mark.spec("S4.19")
def test_each_state_has_its_count_and_percentage_and_the_filter_that_gives_it() -> None:
    for state in ("succeeded", "succeeded", "succeeded", "succeeded", "failed"):
        ended(state=state)
    found = statistics(connection, RunFilter(state="failed"))
    assert (found.total, found.is_capped) == (5, False)
    assert (found.of("succeeded").count, f"{found.of('succeeded').percent:.2f}") == (4, "80.00")
    waiting(ago(hours=1), attempts=1)
    waiting(ago(hours=1))
    waiting(ago(hours=1), run_at=T + timedelta(hours=1))
    waiting(ago(days=2))
    running()
    found = statistics(connection, RunFilter(job_type="work"))
    assert {share.state: share.count for share in found.shares} == {
        "queued": 1,
        "scheduled": 1,
        "retrying": 1,
        "running": 1,
        "succeeded": 4,
        "failed": 1,
        "cancelled": 0,
    }
    for share in found.shares:
        again = RunFilter.from_query(share.runs.as_query())
        assert run_list.count(connection, again) == Counted(share.count), share.state
    assert found.of("failed").percent == 11.11


@pytest.mark.django_db
def test_statistics_look_at_the_newest_and_say_if_there_are_more() -> None:
    for number in range(4):
        ended(ago(minutes=number), state="failed" if number > 1 else "succeeded")
    found = statistics(connection, RunFilter(), most=3)
    assert (found.of("succeeded").count, found.of("failed").count, found.is_capped) == (2, 1, True)
    assert statistics(connection, RunFilter(), most=4).is_capped is False
    assert statistics(connection, RunFilter(queue="none")).of("failed").percent == 0


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 60])
def test_a_page_takes_as_many_queries_whatever_it_lists(
    count: int, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(count):
        waiting()
        ended(state="failed", error_class="Timeout")
    with django_assert_max_num_queries(5 if connection.vendor == "sqlite" else 12):
        run_list.page(connection, ALL)
