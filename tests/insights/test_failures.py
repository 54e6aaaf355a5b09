"""What failed and was not run again since, by job type and error class."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights import run_list
from jobs_app.insights.failures import failures
from jobs_app.insights.run_filter import RunFilter
from jobs_app.insights.run_list import Counted
from tests.insights.run_rows import ago, ended, waiting
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _clock() -> Any:
    with at(60):
        yield


def failed(job_type: str, error_class: str | None, minutes: float = 0, **changes: Any) -> Any:
    return ended(ago(minutes=minutes), "failed", job_type=job_type, error_class=error_class, **changes)


def test_failures_are_grouped_with_what_they_said_last_and_when() -> None:
    failed("report", "ValueError", 9, error="old")
    failed("report", "ValueError", 5, error="x" * 500)
    failed("report", "app.ValueError", 7, error="other")
    failed("mail", "ValueError", 1, error="mail")
    failed("mail", None, 2, error="expired")
    found = failures(connection)
    assert [(group.job_type, group.error_class, group.count) for group in found.groups] == [
        ("report", "ValueError", 2),
        ("mail", "", 1),
        ("mail", "ValueError", 1),
        ("report", "app.ValueError", 1),
    ]
    largest = found.groups[0]
    assert (largest.last_seen, largest.last_message) == (ago(minutes=4), "x" * 200)
    assert (found.count, found.is_capped) == (5, False)


def test_the_filter_of_each_group_means_exactly_its_runs() -> None:
    failed("report", "ValueError")
    failed("report", "app.ValueError")
    failed("report", "app.errors.ValueError")
    failed("report", None)
    failed("report", "")
    for group in failures(connection).groups:
        again = RunFilter.from_query(group.runs.as_query())
        assert again == group.runs
        assert run_list.count(connection, again) == Counted(group.count), group.error_class


def test_what_was_run_again_is_out_of_date_chores_and_ended_otherwise_are_no_failures_of_today() -> None:
    again = failed("report", "ValueError")
    waiting(parent=again)
    failed("report", "ValueError", 25 * 60)
    failed("jobs.prune", "ValueError", queue="jobs.system")
    ended(state="cancelled")
    assert failures(connection).groups == []


def test_a_filter_narrows_them() -> None:
    failed("report", "ValueError", 5 * 60)
    failed("mail", "ValueError", 5 * 60)
    assert [group.job_type for group in failures(connection, RunFilter(job_type="mail")).groups] == ["mail"]
    assert failures(connection, RunFilter(window="1h")).groups == []
    assert failures(connection, replace(RunFilter(), since=T - timedelta(hours=6))).count == 2


def test_only_the_newest_are_looked_at() -> None:
    for minutes in range(3):
        failed("report", f"Error{minutes}", minutes)
    found = failures(connection, most=2)
    assert ([group.error_class for group in found.groups], found.is_capped) == (["Error0", "Error1"], True)
    assert failures(connection, most=3).is_capped is False
