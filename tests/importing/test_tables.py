"""Tables of other packages are read as they are."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, connections

from jobs_app.errors import TableMissing
from jobs_app.importing import tables
from tests.importing.foreign import NOW, every, make_tables, put_schedule, put_task

pytestmark = pytest.mark.django_db

TASKS = "django_celery_beat_periodictask"


def test_moments_flags_and_texts_come_as_what_they_are() -> None:
    make_tables("django_celery")
    late = datetime(2026, 6, 10, 12, 0, 0, 250_000, tzinfo=UTC)
    put_task("a", "shop.a", interval_id=every(5, "minutes"), last_run_at=late, enabled=False)
    [row] = tables.read(connection, TASKS, required=("name", "enabled"), others=("last_run_at", "start_time"))
    assert row == {"name": "a", "enabled": False, "last_run_at": late, "start_time": None}


def test_a_moment_that_no_other_zone_can_tell_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    make_tables("django_q")
    put_schedule("shop.a", next_run=datetime(9999, 12, 31, 23, tzinfo=UTC))
    monkeypatch.setitem(connections["default"].__dict__, "timezone", ZoneInfo("America/New_York"))
    [row] = tables.read(connection, "django_q_schedule", required=("id", "next_run"))
    assert row["next_run"].year == 9999


def test_the_oldest_row_comes_first() -> None:
    make_tables("django_q")
    for name in "cab":
        put_schedule("shop.a", name=name)
    rows = tables.read(connection, "django_q_schedule", required=("name", "next_run"))
    assert [(row["name"], row["next_run"]) for row in rows] == [("c", NOW), ("a", NOW), ("b", NOW)]


def test_a_column_that_an_older_version_lacks_says_nothing() -> None:
    make_tables("django_q", without=("cluster", "intended_date_kwarg"))
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_q_schedule (func, repeats, schedule_type) VALUES ('shop.a', -1, 'D')")
    [row] = tables.read(connection, "django_q_schedule", required=("func",), others=("cluster",))
    assert row == {"func": "shop.a", "cluster": None}


def test_a_table_that_is_missing_is_named_with_what_to_do() -> None:
    with pytest.raises(TableMissing, match=f"there is no table {TASKS} in database 'default'.*--database"):
        tables.read(connection, TASKS, required=("name",))
    assert tables.by_id(connection, TASKS, required=("name",)) == {}


def test_another_table_of_that_name_is_refused() -> None:
    make_tables("django_q", without=("func",))
    with pytest.raises(TableMissing, match="django_q_schedule has no column func"):
        tables.read(connection, "django_q_schedule", required=("func", "name"))
