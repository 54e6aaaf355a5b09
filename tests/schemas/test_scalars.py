"""Single values: what each annotation takes, what is stored for it and what comes back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db.models import IntegerChoices, TextChoices
from django.utils.safestring import SafeString
from hypothesis import given
from hypothesis import strategies as st

from jobs_app.schemas.scalars import SCALARS, Mismatch
from jobs_app.strict_json import dumps, loads

ID = UUID("01a1e755-e736-77b1-8fa2-b6a171cfff9f")

finite_decimals = st.decimals(allow_nan=False, allow_infinity=False)
typed_values = st.one_of(
    st.tuples(st.just(str), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
    st.tuples(st.just(int), st.integers()),
    st.tuples(st.just(float), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(bool), st.booleans()),
    st.tuples(st.just(Decimal), finite_decimals),
    st.tuples(st.just(date), st.dates()),
    st.tuples(st.just(datetime), st.datetimes() | st.datetimes(timezones=st.just(UTC))),
    st.tuples(st.just(time), st.times()),
    st.tuples(st.just(timedelta), st.timedeltas(timedelta(days=-99999), timedelta(days=99999))),
    st.tuples(st.just(UUID), st.uuids()),
)


@given(typed_values)
def test_a_typed_value_comes_back_as_itself(case: tuple[Any, Any]) -> None:
    annotation, value = case
    converter = SCALARS[annotation]
    stored = loads(dumps(converter.dump(value), limit=10_000))
    loaded = converter.load(stored)
    assert loaded == value
    assert type(loaded) is type(value)


@given(typed_values)
def test_the_stored_form_is_taken_like_the_value(case: tuple[Any, Any]) -> None:
    annotation, value = case
    dump = SCALARS[annotation].dump
    assert dump(dump(value)) == dump(value)


@pytest.mark.parametrize(
    ("annotation", "value", "stored"),
    [
        (float, 5, 5.0),
        (Decimal, 12, "12"),
        (Decimal, 0.1, "0.1"),
        (Decimal, "1.50", "1.50"),
        (date, "20260131", "2026-01-31"),
        (datetime, "2026-01-31T09:00:00Z", "2026-01-31T09:00:00+00:00"),
        (datetime, datetime(2026, 1, 31, 9, tzinfo=UTC), "2026-01-31T09:00:00+00:00"),
        (time, "09:00", "09:00:00"),
        (timedelta, 90, "P0DT00H01M30S"),
        (timedelta, 0, "P0DT00H00M00S"),
        (timedelta, "PT0S", "P0DT00H00M00S"),
        (timedelta, "1 02:00:00", "P1DT02H00M00S"),
        (UUID, ID.hex.upper(), str(ID)),
        (str, SafeString("safe"), "safe"),
        (str, TextChoices("Colour", "RED").RED, "RED"),
        (int, IntegerChoices("Size", "SMALL").SMALL, 1),
        (type(None), None, None),
        (Any, {"a": [1]}, {"a": [1]}),
    ],
)
def test_what_is_stored(annotation: Any, value: Any, stored: Any) -> None:
    dumped = SCALARS[annotation].dump(value)
    assert dumped == stored
    assert type(dumped) is type(stored)


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        (int, "5", "expected a whole number, not '5'"),
        (int, True, "expected a whole number, not True"),
        (int, 5.0, "expected a whole number"),
        (int, None, "expected a whole number"),
        (float, True, "expected a number"),
        (float, "1.5", "expected a number"),
        (float, float("nan"), "NaN"),
        (float, 10**400, "too large for a float"),
        (bool, 1, "expected true or false"),
        (bool, "true", "expected true or false"),
        (str, 5, "expected text"),
        (str, b"bytes", "expected text"),
        (Decimal, "many", "expected a decimal number"),
        (Decimal, True, "expected a decimal number"),
        (Decimal, Decimal("NaN"), "expected a finite decimal number"),
        (Decimal, float("inf"), "expected a finite decimal number"),
        (date, datetime(2026, 1, 31, tzinfo=UTC), "expected a date like 2026-01-31"),
        (date, "2026-02-30", "expected a date like"),
        (date, 20260131, "expected a date like"),
        (datetime, "yesterday", "expected a moment like"),
        (datetime, date(2026, 1, 31), "expected a moment like"),
        (time, "25:00", "expected a time like"),
        (timedelta, "soon", "expected a duration like"),
        (timedelta, 1e300, "expected a duration like"),
        (timedelta, True, "expected a number"),
        (UUID, "not-one", "expected a UUID"),
        (UUID, 5, "expected a UUID"),
        (type(None), 0, "expected null"),
    ],
)
def test_what_is_refused_both_ways(annotation: Any, value: Any, words: str) -> None:
    for convert in (SCALARS[annotation].dump, SCALARS[annotation].load):
        with pytest.raises(Mismatch, match=words):
            convert(value)


def test_a_float_that_the_database_gave_back_as_a_whole_number_is_a_float_again() -> None:
    loaded = SCALARS[float].load(10**22)
    assert loaded == 1e22
    assert type(loaded) is float


def test_a_long_value_is_named_in_short() -> None:
    with pytest.raises(Mismatch) as refusal:
        SCALARS[int].dump("x" * 10_000)
    assert len(str(refusal.value)) < 100
