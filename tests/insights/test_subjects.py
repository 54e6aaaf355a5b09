"""Subjects page by page, from samples of a known size."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs_app import job
from jobs_app.capacity import Load
from jobs_app.insights import one_subject, subjects
from jobs_app.insights.subjects import SubjectPage
from jobs_app.lifecycle import control
from tests.insights.planning import ran, schedule
from tests.lifecycle.history import finished
from tests.lifecycle.rows import T, at, stored, take

pytestmark = pytest.mark.django_db

HOSTILE = ['<b>"x"</b>', "a/b", "100%_", "ä ö", "日本", "o'neil\\"]


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    job(name="work")(lambda: None)
    job(name="deal", queue="sp.work", policy="singleton")(lambda: None)
    with at(0):
        yield


def page(**options: Any) -> SubjectPage:
    return subjects.page(connection, **options)


def names(**options: Any) -> list[str]:
    return [line.name for line in page(**options).lines]


def test_a_subject_is_listed_for_a_schedule_live_work_a_late_run_or_a_pause() -> None:
    schedule("deal", "planned", per_hour=4)
    stored(subject="waiting")
    finished(0, subject="ran")
    control.pause("subject", "paused", "ann")
    stored()
    finished(0)
    assert names() == ["paused", "planned", "ran", "waiting"]


def test_one_beyond_the_sample_of_history_is_found_by_its_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subjects, "MOST_RECENT", 1)
    finished(9, subject="older")
    finished(0, subject="newest")
    assert names() == ["newest"]
    assert names(prefix="older") == ["older"]
    assert names(prefix="old") == []


def test_a_pause_that_has_ended_is_no_reason() -> None:
    control.pause("subject", "paused", "ann", until=T + timedelta(hours=1))
    assert names() == ["paused"]
    with at(3601):
        assert names() == []


def test_pages_follow_each_other_in_order() -> None:
    for name in ("a", "b", "c", "d", "e"):
        schedule("deal", name, per_hour=1)
    first = page(limit=2)
    second = page(limit=2, after=first.last)
    third = page(limit=2, after=second.last)
    assert [[line.name for line in each.lines] for each in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert third.last == ""


def test_a_search_is_by_how_names_begin_whatever_the_case_and_nothing_in_it_has_a_meaning() -> None:
    for name in (*HOSTILE, "Acme-1", "acme-2"):
        stored(subject=name)
    assert set(names(prefix="ACME")) == {"Acme-1", "acme-2"}
    for name in HOSTILE:
        assert names(prefix=name[:2]) == [name]
    assert names(prefix="%") == names(prefix="_") == []


def test_a_line_counts_what_waits_runs_and_failed_of_late() -> None:
    stored(2, subject="a")
    take(1)
    for days, state in ((0.5, "failed"), (0.6, "failed"), (2, "failed"), (0.5, "succeeded")):
        finished(days, state, subject="a")
    stored(subject="b")
    a, b = page().lines
    assert (a.name, a.waiting, a.running, a.failed) == ("a", 1, 1, 2)
    assert (b.name, b.waiting, b.running, b.failed) == ("b", 1, 0, 0)


def test_the_load_is_that_of_its_schedules_against_an_hour() -> None:
    ran("deal", [12])
    schedule("deal", "busy", per_hour=6)
    schedule("deal", "usual", per_hour=4)
    schedule("work", "unmeasured", per_hour=4)
    stored(subject="unplanned")
    found = {line.name: (line.load, line.left_out) for line in page().lines}
    assert found == {
        "busy": (Load(72, 60), 0),
        "usual": (Load(48, 60), 0),
        "unmeasured": (Load(0, None), 1),
        "unplanned": (None, 0),
    }


def test_numbers_of_samples_that_were_cut_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stored(3, subject="a")
    for _ in range(3):
        finished(0, "failed", subject="a")
    assert (page().is_live_capped, page().is_failed_capped) == (False, False)
    monkeypatch.setattr(subjects, "MOST_LIVE", 2)
    monkeypatch.setattr(subjects, "MOST_FAILED", 2)
    found = page()
    assert (found.is_live_capped, found.is_failed_capped) == (True, True)
    assert found.lines[0].waiting == 2


def test_a_page_takes_the_same_queries_for_five_and_for_two_hundred() -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            page(limit=100)
        return len(captured)

    ran("deal", [1])
    for number in range(5):
        schedule("deal", f"s{number}", per_hour=1)
    few = queries()
    for number in range(5, 200):
        schedule("deal", f"s{number}", per_hour=1)
    assert queries() == few


def test_what_is_still_to_be_done_for_one_and_what_was() -> None:
    stored(3, subject="a")
    stored(subject="b")
    [running] = take(1)
    old = finished(1, "failed", subject="a")
    new = finished(0.5, subject="a")
    work = one_subject.live(connection, "a", T, limit=1)
    assert ([job.pk for job in work.running], [job.status for job in work.running]) == ([running.id], ["running"])
    assert (len(work.waiting), work.waiting_count, work.is_capped) == (1, 2, False)
    assert work.waiting[0].status == "queued"
    assert [run.pk for run in one_subject.last_runs(connection, "a")] == [new, old]
    nothing = one_subject.live(connection, "nobody", T)
    assert (nothing.running, nothing.waiting, nothing.waiting_count) == ([], [], 0)
