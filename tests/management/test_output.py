"""What commands print."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management.base import OutputWrapper

from jobs_app.management.output import Output, shown

NINE = datetime(2026, 1, 31, 9, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture
def streams() -> tuple[StringIO, StringIO]:
    return StringIO(), StringIO()


@pytest.fixture
def out(streams: tuple[StringIO, StringIO]) -> Output:
    data, words = streams
    return Output(OutputWrapper(data), OutputWrapper(words), as_json=False)


def printed(streams: tuple[StringIO, StringIO]) -> list[str]:
    return streams[0].getvalue().splitlines()


def test_columns_are_as_wide_as_they_need_and_numbers_stand_to_the_right(out: Output, streams: Any) -> None:
    out.table(("QUEUE", "WAITING", "NOTE"), [("mail", 3, "x"), ("a longer name", 1200, None)])
    assert printed(streams) == [
        "QUEUE          WAITING  NOTE",
        "mail                 3  x",
        "a longer name     1200  -",
    ]


def test_an_empty_table_is_its_headers(out: Output, streams: Any) -> None:
    out.table(("A", "B"), [])
    assert printed(streams) == ["A  B"]


def test_fields_say_only_what_there_is_to_say(out: Output, streams: Any) -> None:
    out.fields({"id": 7, "subject": "", "parent": None, "priority": 0})
    assert printed(streams) == ["id        7", "priority  0"]


def test_json_has_a_schema_and_utc(streams: Any) -> None:
    data, words = streams
    Output(OutputWrapper(data), OutputWrapper(words), as_json=True).json({"id": UUID(int=7), "at": NINE, "name": "Zoë"})
    assert json.loads(data.getvalue()) == {
        "schema": 1,
        "id": "00000000-0000-0000-0000-000000000007",
        "at": "2026-01-31T07:00:00+00:00",
        "name": "Zoë",
    }


def test_a_list_is_json_as_it_is(streams: Any) -> None:
    data, words = streams
    Output(OutputWrapper(data), OutputWrapper(words), as_json=True).json([{"at": NINE}])
    assert json.loads(data.getvalue()) == [{"at": "2026-01-31T07:00:00+00:00"}]


def test_words_about_the_data_are_kept_apart_from_it(out: Output, streams: Any) -> None:
    out.line("data")
    out.line()
    out.note("words")
    assert (streams[0].getvalue(), streams[1].getvalue()) == ("data\n\n", "words\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("", "-"),
        (NINE, "2026-01-31 07:00:00Z"),
        ({"a": [1, "ü"]}, '{"a": [1, "ü"]}'),
        ("two\nlines\x1b[31m", "two\\nlines\\x1b[31m"),
        (0, "0"),
        (False, "False"),
    ],
)
def test_a_value_is_one_line(value: object, text: str) -> None:
    assert shown(value) == text
