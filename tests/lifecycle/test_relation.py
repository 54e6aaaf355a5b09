"""Values in Python, the same values as a table inside a statement."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs_app.lifecycle.database import frozen_clock, is_postgres, read_sqlite_time
from jobs_app.lifecycle.relation import MOMENTS, POSTGRES_TYPES, relation
from tests.lifecycle.rows import T

pytestmark = pytest.mark.django_db

NAMES = {kind: f"a_{kind}" for kind in POSTGRES_TYPES}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
SECONDS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
VALUES = {
    "uuid": st.uuids(),
    "text": TEXT,
    "int": st.integers(-(2**53), 2**53),
    "bool": st.booleans(),
    "json": TEXT.map(lambda text: json.dumps({"text": text}, ensure_ascii=False)),
    "time": st.integers(-(10**9), 10**9).map(lambda seconds: T + timedelta(seconds=seconds, microseconds=7)),
    "float": st.integers(-(2**40), 2**40).map(lambda number: number / 8),
    "after": SECONDS,
    "ago": SECONDS,
}


def selected(columns: dict[str, str], rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows as the database gives them back."""
    with frozen_clock(T), connection.cursor() as cursor:
        cursor.execute(*relation(connection, columns, rows))
        return [tuple(map(_read, columns.values(), row)) for row in cursor.fetchall()]


def _read(kind: str, value: Any) -> Any:
    if value is None or is_postgres(connection):
        return value
    convert: dict[str, Any] = {"uuid": UUID, "time": read_sqlite_time, "bool": bool} | dict.fromkeys(
        MOMENTS, read_sqlite_time
    )
    return convert.get(kind, lambda same: same)(value)


def told(kind: str, value: Any) -> Any:
    """What is expected back: seconds come as a moment, everything else as it was."""
    if kind not in MOMENTS or value is None:
        return value
    return T + timedelta(seconds=value if kind == "after" else -value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(*(st.none() | VALUES[kind] for kind in NAMES)), min_size=1, max_size=6))
def test_rows_come_back_as_they_were_given(rows: list[tuple[Any, ...]]) -> None:
    numbered = [(number, *row) for number, row in enumerate(rows)]
    found = selected({"number": "int", **{name: kind for kind, name in NAMES.items()}}, numbered)
    assert [row[0] for row in found] == list(range(len(rows)))
    for given_row, row in zip(rows, found, strict=True):
        for kind, value, back in zip(NAMES, given_row, row[1:], strict=True):
            if kind in MOMENTS and value is not None:
                assert abs(back - told(kind, value)) < timedelta(milliseconds=1)
            else:
                assert back == value


def test_a_column_of_one_value_is_sent_once(is_postgres: bool) -> None:
    sql, parameters = relation(connection, {"id": "int", "queue": "text"}, [(number, "mail") for number in range(100)])
    if is_postgres:
        assert parameters["queue"] == "mail"
        assert parameters["id"].count(",") == 99
    assert selected({"id": "int", "queue": "text"}, [(1, "mail"), (2, "mail")]) == [(1, "mail"), (2, "mail")]
    assert sql.startswith("SELECT")


def test_whole_and_other_numbers_of_seconds_go_together() -> None:
    rows = [(1, 30), (2, 0.5), (3, None), (4, -1)]
    assert selected({"id": "int", "until": "after"}, rows) == [(n, told("after", seconds)) for n, seconds in rows]


def test_half_a_surrogate_pair_is_refused_and_not_stored_unreadably() -> None:
    with pytest.raises(UnicodeEncodeError):
        selected({"id": "int", "text": "text"}, [(1, "a"), (2, "\ud800")])
