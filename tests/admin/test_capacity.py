"""The page of capacity: measured, what if, and the worked example of the formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.models import ScheduleState
from tests.admin.conftest import Visitor
from tests.insights.planning import ran, schedule, worker
from tests.lifecycle.rows import T, at, stored

pytestmark = pytest.mark.django_db

Url = Callable[..., str]


@pytest.fixture(autouse=True)
def noon() -> Iterator[None]:
    for name in ("deal", "retrieval"):
        job(name=name, queue="sp.work", policy="singleton")(lambda: None)
    with at(0):
        yield


@pytest.fixture
def providers() -> None:
    """The worked example, with rates and durations as the schedules and the history have them."""
    for number in range(18):
        schedule("deal", f"sp-{number}", per_hour=4)
        schedule("retrieval", f"sp-{number}", per_hour=6)
    ran("deal", [5] * 3)
    ran("retrieval", [2] * 3)
    for number in range(5):
        worker(f"worker-{number}", 20, "deal", "retrieval")


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


@pytest.fixture
def seen(visitor: Visitor, page_url: Url) -> Callable[..., str]:
    client = visitor()

    def see(**query: Any) -> str:
        answer = client.get(page_url("dashboard_capacity"), query)
        assert answer.status_code == 200
        return words(answer.content.decode())

    return see


def formula(subjects: int, processes: int, *types: tuple[str, float, float, int]) -> dict[str, Any]:
    given: dict[str, Any] = {"f-subjects": subjects, "f-processes": processes}
    for number, (name, rate, minutes, slots) in enumerate(types, 1):
        given |= {f"f-name-{number}": name, f"f-rate-{number}": rate}
        given |= {f"f-minutes-{number}": minutes, f"f-slots-{number}": slots}
    return given


@pytest.mark.spec("S0.39", "S0.40", "S0.41", "S0.42", "A0.1")
def test_the_worked_example_is_calculated(seen: Callable[..., str]) -> None:
    page = seen(**formula(18, 5, ("deal", 4, 5, 10), ("retrieval", 6, 2, 10)))
    assert "One subject : drains: 32 of 60 minutes an hour are used, 28 are left." in page
    assert "deal 20 600 150" in page
    assert "retrieval 12 1,500 250" in page
    assert "Answer : 150 subjects at most, limited by the slots of deal." in page


@pytest.mark.spec("A0.1")
def test_sixty_minutes_drain_and_more_can_never_catch_up(seen: Callable[..., str]) -> None:
    page = seen(**formula(1, 1, ("deal", 4, 12, 10), ("retrieval", 6, 3, 10)))
    assert "can never catch up: 66 of 60 minutes an hour are needed, 6 are missing" in page
    page = seen(**formula(1, 1, ("deal", 4, 9, 10), ("retrieval", 6, 4, 10)))
    assert "drains: 60 of 60 minutes an hour are used, 0 are left" in page


def test_without_numbers_the_example_stands_there(seen: Callable[..., str]) -> None:
    assert "150 subjects at most, limited by the slots of deal" in seen()


@pytest.mark.parametrize(
    "wrong", [{"f-processes": "0"}, {"f-rate-1": "nan"}, {"f-minutes-1": "-1"}, {"f-subjects": ""}]
)
def test_a_number_that_cannot_be_used_is_told(wrong: dict[str, str], seen: Callable[..., str]) -> None:
    page = seen(**formula(18, 5, ("deal", 4, 5, 10)) | wrong)
    assert "Answer :" not in page


@pytest.mark.usefixtures("providers")
@pytest.mark.spec("S0.40", "S0.41", "S0.42")
def test_what_was_measured_is_shown_with_its_verdict(seen: Callable[..., str]) -> None:
    page = seen()
    assert "drains: 576 of 6000 minutes an hour are used, 5424 are left; slots needed: 10 of 100" in page
    assert "187 subjects at most, limited by the slots that all types share" in page
    assert "deal 72 18 5m 5m" in page
    assert "Nobody: each subject has minutes left" in page


@pytest.mark.usefixtures("providers")
def test_what_if_there_were_other_slots_minutes_and_more_subjects(seen: Callable[..., str]) -> None:
    assert "slots needed: 10 of 5" in seen(slots=5)
    assert "can never catch up: 576 of 300 minutes" in seen(slots=5)
    assert "drains: 1152 of 6000" in seen(more=18)
    page = seen(**{"minutes:deal": "12"})
    assert "drains: 1080 of 6000" in page
    assert "Nobody: each subject" in page
    page = seen(**{"minutes:deal": "13"})
    assert "64 of 60" in page
    assert page.count("can never catch up") >= 18


@pytest.mark.usefixtures("providers")
@pytest.mark.parametrize("query", [{"slots": "many"}, {"more": "-1"}, {"minutes:deal": "1e999"}, {"minutes:deal": "x"}])
def test_what_cannot_be_used_is_told_and_the_rest_counts(query: dict[str, str], seen: Callable[..., str]) -> None:
    assert "drains: 576 of 6000" in seen(**query)


@pytest.mark.spec("S0.39")
def test_who_can_never_catch_up_is_named(seen: Callable[..., str]) -> None:
    ran("deal", [5])
    schedule("deal", "too busy", per_hour=16)
    schedule("deal", "fine", per_hour=1)
    page = seen()
    late, busiest = page.partition("Can never catch up")[2].split("Busiest subjects")
    assert "too busy" in late
    assert "80 of 60" in late
    assert "fine" not in late
    assert "fine" in busiest


def test_a_type_without_runs_needs_them(seen: Callable[..., str]) -> None:
    schedule("deal", "sp-1", per_hour=4)
    page = seen()
    assert "needs runs" in page
    assert "without deal, of which no run was measured" in page


def test_without_schedules_it_says_what_is_needed(seen: Callable[..., str]) -> None:
    page = seen()
    assert "No schedule is active" in page
    assert "No schedule is about a subject" in page
    assert "Nothing waits" in page


def test_queues_tell_when_they_are_empty(seen: Callable[..., str]) -> None:
    stored(3, queue="mail")
    assert "mail 3" in seen().partition("Time to drain")[2]


@pytest.mark.usefixtures("providers")
def test_so_many_queries_whatever_there_is(visitor: Visitor, page_url: Url) -> None:
    client = visitor()

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            assert client.get(page_url("dashboard_capacity")).status_code == 200
        return len(found)

    queries()
    few = queries()
    rows = [
        ScheduleState(job_type=f"type-{number % 40}", subject=f"s-{number}", interval_seconds=3600, next_run_at=T)
        for number in range(2000)
    ]
    ScheduleState.objects.bulk_create(rows)
    assert queries() == few
