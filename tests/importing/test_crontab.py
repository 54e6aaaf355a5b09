"""Celery's crontab as an expression."""

from __future__ import annotations

import pytest

from jobs_app.importing.crontab import expression
from tests.importing.foreign import CRONTAB


def said(**fields: str) -> str:
    return expression(**{name: value for name, value in (CRONTAB | fields).items() if name != "timezone"})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "0 9 * * *"),
        ({"minute": "*/15", "hour": "*"}, "*/15 * * * *"),
        ({"day_of_week": "mon-fri"}, "0 9 * * mon-fri"),
        ({"day_of_week": "Sunday, Monday"}, "0 9 * * sun,mon"),
        ({"month_of_year": "january"}, "0 9 * jan *"),
        ({"day_of_week": "0"}, "0 9 * * 0"),
        ({"hour": "5-5"}, "0 5 * * *"),
        ({"hour": "1,5-5/2"}, "0 1,5 * * *"),
        ({"minute": "", "hour": "8, 20"}, "* 8,20 * * *"),
        ({"day_of_month": "1,15"}, "0 9 1,15 * *"),
    ],
)
def test_the_same_fields_in_the_same_order(fields: dict[str, str], text: str) -> None:
    assert said(**fields) == text


@pytest.mark.parametrize("everything", [{"day_of_week": "0-6"}, {"day_of_week": "*/1"}])
def test_a_field_that_leaves_no_day_out_does_not_add_days_to_the_other(everything: dict[str, str]) -> None:
    assert said(day_of_month="13", **everything) == "0 9 13 * *"


@pytest.mark.parametrize(
    ("dates", "weekdays", "text"),
    [
        ("1-7", "1", "0 9 * * 1#1"),
        ("8-14", "mon,fri", "0 9 * * 1#2,5#2"),
        ("1-14", "0", "0 9 * * 0#1,0#2"),
        ("29-31", "6", "0 9 * * 6#5"),
    ],
)
def test_a_weekday_in_a_week_of_the_month_is_its_numbered_one(dates: str, weekdays: str, text: str) -> None:
    assert said(day_of_month=dates, day_of_week=weekdays) == text


@pytest.mark.parametrize("dates", ["13", "1-8", "2-7", "*/2"])
def test_days_that_must_fit_both_fields_otherwise_cannot_be_said(dates: str) -> None:
    with pytest.raises(ValueError, match="fit both the date and the weekday"):
        said(day_of_month=dates, day_of_week="1")


def test_what_is_no_crontab_is_told() -> None:
    with pytest.raises(ValueError, match="0 to 59 for the minute"):
        said(minute="61")
