"""What is paused now, as whoever claims or enqueues asks for it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs_app.lifecycle.pauses import Pauses, read_pauses
from jobs_app.models import Pause
from tests.lifecycle.paused import paused
from tests.lifecycle.rows import T, at

pytestmark = pytest.mark.django_db


def test_only_pauses_in_force_count_and_one_small_query_tells() -> None:
    for scope, name in [("all", ""), ("queue", "mail"), ("job_type", "work"), ("subject", "shop-7")]:
        Pause.objects.create(scope=scope, name=name, until=T + timedelta(seconds=10))
    paused("shop-8")
    with at(9):
        assert read_pauses(connection) == Pauses(
            everything=True,
            queues=frozenset({"mail"}),
            are_unfinished=True,
            job_types=frozenset({"work"}),
            subjects=frozenset({"shop-7", "shop-8"}),
        )
    with at(10):
        assert read_pauses(connection) == Pauses(subjects=frozenset({"shop-8"}), are_unfinished=True)


def test_a_pause_is_unfinished_until_all_is_parked_and_from_its_end_on_until_it_is_gone() -> None:
    pause = paused(until=T + timedelta(seconds=10))
    Pause.objects.create(scope="queue", name="mail")
    seen = []
    for second, parked in [(0, False), (1, True), (11, True)]:
        Pause.objects.filter(pk=pause.pk).update(parked=parked)
        with at(second):
            seen.append(read_pauses(connection).are_unfinished)
    pause.delete()
    assert [*seen, read_pauses(connection).are_unfinished] == [True, False, True, False]


def test_nothing_paused_allows_everything_and_is_asked_for_in_one_query(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        pauses = read_pauses(connection)
    assert pauses == Pauses()
    assert pauses.allows("mail")
    assert not Pauses(everything=True).allows("mail")
    assert not Pauses(queues=frozenset({"mail"})).allows("mail")
    assert Pauses(queues=frozenset({"mail"})).allows("other")
    assert Pauses(everything=True, queues=frozenset({"jobs.system"})).allows("jobs.system")
