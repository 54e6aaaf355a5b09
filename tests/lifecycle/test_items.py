"""Items of runs: once per key, the newest data."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from jobs_app.lifecycle.items import store_items
from jobs_app.models import JobItem

pytestmark = pytest.mark.django_db

RUN, OTHER = UUID(int=1), UUID(int=2)


def test_how_many_are_new_is_counted_and_the_newest_data_are_kept() -> None:
    assert store_items(connection, RUN, {"a": 1, "b": [2]}) == 2
    assert store_items(connection, RUN, {"b": {"x": None}, "c": "three"}) == 1
    assert dict(JobItem.objects.values_list("key", "data")) == {"a": 1, "b": {"x": None}, "c": "three"}


def test_runs_have_keys_of_their_own() -> None:
    assert store_items(connection, RUN, {"a": 1}) == store_items(connection, OTHER, {"a": 1}) == 1
    assert JobItem.objects.count() == 2


def test_many_are_stored_in_few_statements(django_assert_max_num_queries: object) -> None:
    items = {f"key {number}": {"number": number} for number in range(1000)}
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        assert store_items(connection, RUN, items) == 1000
    assert store_items(connection, RUN, items) == 0


def test_nothing_costs_nothing(django_assert_num_queries: object) -> None:
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert store_items(connection, RUN, {}) == 0
