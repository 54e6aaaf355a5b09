"""The last hour from roll-ups."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.insights.throughput import NO_HOUR, Hour, QueueHour, last_hour, of_queues
from jobs_app.lifecycle.rollups import ALL_ENDED, MINUTE, Sample, write
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db


def sample(minutes_ago: int, series: str, name: str, value: float) -> None:
    write(connection, T - minutes_ago * MINUTE, [Sample(series, name, value)])


def rolled_up(*minutes_ago: int) -> None:
    for ago in minutes_ago:
        sample(ago, *ALL_ENDED, 0)


def hour() -> Hour:
    return last_hour(connection, T + timedelta(seconds=20))


def test_without_numbers_there_is_nothing_to_tell() -> None:
    found = hour()
    assert (found.queues, found.types, found.waiting, found.trend, found.is_rolled_up) == ({}, {}, [], None, False)
    assert (len(found.minutes), sum(each.ended for each in found.minutes)) == (60, 0)


def test_a_queue_has_its_line_and_the_mean_of_what_came_and_went_lately() -> None:
    for ago, waiting in ((61, 99), (3, 10), (2, 20), (1, 30)):
        sample(ago, "waiting", "mail", waiting)
    rolled_up(*range(1, 4), 30)
    sample(1, "enqueued", "mail", 12), sample(2, "enqueued", "mail", 3), sample(30, "enqueued", "mail", 999)
    sample(1, "finished", "mail", 6)
    mail = hour().queues["mail"]
    assert (mail.waiting, mail.per_minute_in, mail.per_minute_out) == ([10, 20, 30], 5, 2)
    assert mail.trend == pytest.approx(10)
    assert hour().is_rolled_up
    assert of_queues(connection, T + timedelta(seconds=20)) == hour().queues


def test_speed_is_told_over_the_last_ten_minutes_that_are_over() -> None:
    rolled_up(*range(12))
    for ago in range(1, 11):
        sample(ago, "enqueued", "mail", 6), sample(ago, "finished", "mail", 9)
    sample(11, "enqueued", "mail", 1000), sample(0, "enqueued", "mail", 1000)
    assert (hour().queues["mail"].per_minute_in, hour().queues["mail"].per_minute_out) == (6, 9)


def test_a_minute_that_is_not_rolled_up_yet_is_not_one_in_which_nothing_happened() -> None:
    rolled_up(*range(5, 15))
    for ago in range(5, 15):
        sample(ago, "enqueued", "mail", 6)
    for ago in range(15):
        sample(ago, "waiting", "mail", 1)
    assert (hour().queues["mail"].per_minute_in, hour().queues["mail"].per_minute_out) == (6, 0)


def test_what_was_rolled_up_long_ago_tells_no_speed() -> None:
    rolled_up(11, 12), sample(11, "enqueued", "mail", 6), sample(1, "waiting", "mail", 6)
    found = hour()
    assert (found.queues["mail"], found.is_rolled_up) == (QueueHour(waiting=[6]), False)


@pytest.mark.parametrize(
    ("waiting", "queue", "seconds"),
    [
        (0, QueueHour(per_minute_in=5, per_minute_out=1), 0.0),
        (30, QueueHour(per_minute_in=1, per_minute_out=4), 600.0),
        (30, QueueHour(per_minute_in=4, per_minute_out=4), None),
        (30, QueueHour(per_minute_in=9, per_minute_out=4), None),
        (30, NO_HOUR, None),
    ],
)
def test_a_queue_is_empty_when_more_goes_out_than_comes_in(
    waiting: int, queue: QueueHour, seconds: float | None
) -> None:
    assert queue.drained_in(waiting) == seconds


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
    with django_assert_num_queries(1):
        of_queues(connection, T)
