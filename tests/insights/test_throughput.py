"""The last hour from roll-ups."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.throughput import Hour, last_hour
from jobs_app.lifecycle.rollups import MINUTE, Sample, write
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


def sample(minutes_ago: int, series: str, name: str, value: float) -> None:
    write(connection, T - minutes_ago * MINUTE, [Sample(series, name, value)])


def hour() -> Hour:
    return last_hour(connection, T + timedelta(seconds=20))


def test_without_numbers_there_is_nothing_to_tell() -> None:
    found = hour()
    assert (found.queues, found.types, found.waiting, found.trend, found.is_rolled_up) == ({}, {}, [], None, False)
    assert (len(found.minutes), sum(each.ended for each in found.minutes)) == (60, 0)


def test_a_queue_has_its_line_and_the_mean_of_what_came_and_went_lately() -> None:
    for ago, waiting in ((3, 10), (2, 20), (1, 30)):
        sample(ago, "waiting", "mail", waiting)
    sample(1, "enqueued", "mail", 12), sample(2, "enqueued", "mail", 3), sample(30, "enqueued", "mail", 999)
    sample(1, "finished", "mail", 6)
    mail = hour().queues["mail"]
    assert (mail.waiting, mail.per_minute_in, mail.per_minute_out) == ([10, 20, 30], 5, 2)
    assert mail.trend == pytest.approx(10)
    assert hour().is_rolled_up


@pytest.mark.parametrize(
    ("values", "trend"),
    [([5, 5, 5, 5], 0), ([40, 30, 20, 10], -10), ([0, 0, 10, 10], 4), ([7, 9], None)],
)
def test_the_trend_is_the_slope_of_the_last_minutes(values: list[float], trend: float | None) -> None:
    for ago, value in enumerate(reversed(values), start=1):
        sample(ago, "waiting", "mail", value)
    sample(50, "waiting", "mail", 10_000)  # too long ago to matter
    assert hour().queues["mail"].trend == (None if trend is None else pytest.approx(trend))


def test_the_backlog_is_summed_over_all_queues() -> None:
    for ago in (3, 2, 1):
        sample(ago, "waiting", "a", 10 * (4 - ago)), sample(ago, "waiting", "b", 1)
    found = hour()
    assert (found.waiting, found.trend) == ([11, 21, 31], pytest.approx(10))


def test_what_ended_is_told_by_minute_and_by_type() -> None:
    for job_type, succeeded, failed in (("mail", 9, 1), ("sync", 5, 15)):
        sample(1, "ended.succeeded", job_type, succeeded)
        sample(2, "ended.failed", job_type, failed)
    sample(2, "ended.cancelled", "mail", 4), sample(61, "ended.failed", "mail", 100)
    found = hour()
    assert (found.minutes[-1].at, found.minutes[0].at) == (T - MINUTE, T - 60 * MINUTE)
    assert [(each.succeeded, each.failed, each.cancelled) for each in found.minutes[-2:]] == [(0, 16, 4), (14, 0, 0)]
    assert found.types["sync"].failure_rate == 0.75
    assert found.types["mail"].failure_rate == 0.1


def test_it_takes_three_queries_whatever_there_is(django_assert_num_queries: Callable[[int], Any]) -> None:
    for number in range(20):
        sample(1, "waiting", f"q{number}", 1), sample(1, "ended.failed", f"t{number}", 1)
    with django_assert_num_queries(3):
        hour()
